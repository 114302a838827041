#ifndef TOOLS_YARD_AT_CAPTURED_H_
#define TOOLS_YARD_AT_CAPTURED_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace yard {

// The output of a program, and its end.
struct Captured {
  int code = 0;      // Exit code; 128 and the signal that has killed it.
  std::string text;  // At most the limit; what comes after that is dropped.
};
struct CaptureOptions {
  std::vector<std::string> environment = {};  // "NAME=value", complete.
  bool shows_stderr = true;                   // Else it goes nowhere.
  // False: the program can ask at the terminal of this process, and Ctrl-C reaches it.
  bool new_session = false;
  std::size_t limit = 256 << 10;
  absl::Duration timeout = absl::Seconds(30);
};
// Runs `argv` with no stdin. DeadlineExceeded: it was killed, for it had not ended in time. Blocks.
absl::StatusOr<Captured> Capture(const std::vector<std::string>& argv,
                                 const CaptureOptions& options);

}  // namespace yard

#endif  // TOOLS_YARD_AT_CAPTURED_H_
