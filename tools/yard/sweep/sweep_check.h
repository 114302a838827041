#ifndef TOOLS_YARD_SWEEP_SWEEP_CHECK_H_
#define TOOLS_YARD_SWEEP_SWEEP_CHECK_H_

#include <string>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "tools/yard/sweep/sweep_file.h"

namespace yard {

// A preview says what a sweep would do, from its file alone. InvalidArgument: its first command
// cannot be.
struct SweepPreview {
  std::string text;  // Printable.
  nlohmann::ordered_json json;
};
// The parameters, how many combinations there are, where trials are compared and how many of them
// are expected there, the first configurations, the command of the first. `width`: of a terminal;
// 0: any. Pure.
absl::StatusOr<SweepPreview> PreviewSweep(const SweepDraft& draft, int width = 0);

}  // namespace yard

#endif  // TOOLS_YARD_SWEEP_SWEEP_CHECK_H_
