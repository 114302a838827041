#ifndef TOOLS_YARD_SWEEP_SWEEP_CHECK_H_
#define TOOLS_YARD_SWEEP_SWEEP_CHECK_H_

#include <string>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "tools/yard/sweep/sweep_file.h"

namespace yard {

// A description of what a sweep would do, derived from its file alone. InvalidArgument if its first
// command is invalid.
struct SweepPreview {
  std::string text;  // Printable.
  nlohmann::ordered_json json;
};
// Describes the parameters, the number of combinations, the levels at which trials are compared
// with the expected number of trials, the first configurations and the first command. `width` is
// the terminal's; 0 for unlimited. Pure.
absl::StatusOr<SweepPreview> PreviewSweep(const SweepDraft& draft, int width = 0);

}  // namespace yard

#endif  // TOOLS_YARD_SWEEP_SWEEP_CHECK_H_
