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
  int code = 0;             // Exit code; 128 and the signal that has killed it.
  std::string text;         // At most the limit; what comes after that is dropped.
  std::string errors = {};  // As `text`, what it wrote to stderr, if that is kept.
  bool is_cut = false;      // It was killed at the limit: CaptureOptions::ends_at_limit.
};
struct CaptureOptions {
  std::vector<std::string> environment = {};  // "NAME=value", complete.
  std::string working_directory = {};         // Empty: this process's.
  bool shows_stderr = true;                   // Else it goes nowhere, or is kept.
  bool keeps_stderr = false;
  int input = -1;  // Descriptor that is its stdin; -1: it has none. Not owned.
  // Descriptor at which it is killed when that becomes readable; -1: none. Not owned.
  int cancel = -1;
  // False: the program can ask at the terminal of this process, and Ctrl-C reaches it. True: it is
  // killed with all that it has started.
  bool new_session = false;
  std::size_t limit = 256 << 10;  // Bytes of each stream.
  bool ends_at_limit = false;     // It is killed once `text` has more.
  absl::Duration timeout = absl::Seconds(30);
};
// Runs `argv` to its end. DeadlineExceeded: it was killed, for it had not ended in time. Cancelled:
// it was killed because of `cancel`. Blocks.
absl::StatusOr<Captured> Capture(const std::vector<std::string>& argv,
                                 const CaptureOptions& options);

}  // namespace yard

#endif  // TOOLS_YARD_AT_CAPTURED_H_
