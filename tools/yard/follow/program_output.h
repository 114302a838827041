#ifndef TOOLS_YARD_FOLLOW_PROGRAM_OUTPUT_H_
#define TOOLS_YARD_FOLLOW_PROGRAM_OUTPUT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace yard {

// The output of a program that never prompts and whose stderr is discarded; Capture()
// (tools/yard/at/captured.h) covers all other programs. `ok` is false if the program did not start,
// failed, or had not ended by the deadline. At `limit` bytes it is killed (`is_cut`). Blocks.
struct ProgramOutput {
  bool ok = false;
  bool is_cut = false;
  std::string text;
};
ProgramOutput ReadProgram(const std::vector<std::string>& argv, const std::string& directory,
                          const std::vector<std::string>& environment, std::size_t limit,
                          absl::Duration deadline);

}  // namespace yard

#endif  // TOOLS_YARD_FOLLOW_PROGRAM_OUTPUT_H_
