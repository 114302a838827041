#ifndef TOOLS_YARD_FOLLOW_PROGRAM_OUTPUT_H_
#define TOOLS_YARD_FOLLOW_PROGRAM_OUTPUT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace yard {

// The output of `argv`, at most `limit` bytes of it (then it is killed); nothing if it does not
// start, fails, or has not ended by the deadline. For a program that asks nothing and whose errors
// nobody reads; Capture() (tools/yard/at/captured.h) does the rest. Blocks.
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
