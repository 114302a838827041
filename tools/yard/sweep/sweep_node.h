#ifndef TOOLS_YARD_SWEEP_SWEEP_NODE_H_
#define TOOLS_YARD_SWEEP_SWEEP_NODE_H_

#include <string>

#include "absl/status/status.h"
#include "tools/yard/text/yaml.h"
#include "tuning/engine/plan_reader.h"

namespace yard {

// A sweep file's values as `tuning` takes them. Text without quotes is a number (1e-4,
// .5, +2, but not 007), true, false or null where it looks like one. A value of a map is where its
// key is.
tuning::PlanNode NodeOf(const YamlNode& yaml);

// Sets a value by its path: "parameters.lr.max=0.1" (a name may have dots itself). The value is
// YAML. A value that is set stands nowhere in the file (line 0). InvalidArgument begins with
// "--set".
absl::Status SetByPath(const std::string& assignment, YamlNode* root);

}  // namespace yard

#endif  // TOOLS_YARD_SWEEP_SWEEP_NODE_H_
