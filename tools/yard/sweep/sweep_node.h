#ifndef TOOLS_YARD_SWEEP_SWEEP_NODE_H_
#define TOOLS_YARD_SWEEP_SWEEP_NODE_H_

#include <string>

#include "absl/status/status.h"
#include "tools/yard/text/yaml.h"
#include "tuning/engine/plan_reader.h"

namespace yard {

// Converts a sweep file's values for `tuning`. Unquoted text becomes a number (1e-4, .5, +2, but
// not 007), true, false or null if it looks like one. A value in a map has the position of its
// key.
tuning::PlanNode NodeOf(const YamlNode& yaml);

// Sets a value by its path: "parameters.lr.max=0.1" (names may contain dots). The value is YAML. A
// set value has line 0, because it has no position in the file. InvalidArgument begins with
// "--set".
absl::Status SetByPath(const std::string& assignment, YamlNode* root);

}  // namespace yard

#endif  // TOOLS_YARD_SWEEP_SWEEP_NODE_H_
