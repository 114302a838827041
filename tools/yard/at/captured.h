#ifndef TOOLS_YARD_AT_CAPTURED_H_
#define TOOLS_YARD_AT_CAPTURED_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace yard {

// Output and exit of a program.
struct Captured {
  int code = 0;             // Exit code; 128 plus the signal if one killed it.
  std::string text;         // Its stdout up to the limit; the rest is dropped.
  std::string errors = {};  // Its stderr likewise, if that is kept.
  bool is_cut = false;      // Killed at the limit (CaptureOptions::ends_at_limit).
};
struct CaptureOptions {
  std::vector<std::string> environment = {};  // "NAME=value"; the complete environment.
  std::string working_directory = {};         // If empty, that of this process.
  bool shows_stderr = true;                   // If false, stderr is discarded or kept.
  bool keeps_stderr = false;
  int input = -1;  // Descriptor for its stdin; -1 for none. Not owned.
  // The program is killed once this descriptor is readable; -1 for none. Not owned.
  int cancel = -1;
  // If true, a kill also reaches all processes that the program has started. If false, the program
  // can prompt at the terminal of this process, and receives Ctrl-C.
  bool new_session = false;
  std::size_t limit = 256 << 10;  // Bytes kept of each stream.
  bool ends_at_limit = false;     // Kills the program when stdout exceeds `limit`.
  absl::Duration timeout = absl::Seconds(30);
};
// Runs `argv` until it exits. DeadlineExceeded if it was killed after `timeout`; Cancelled if it
// was killed because of `cancel`. Blocks.
absl::StatusOr<Captured> Capture(const std::vector<std::string>& argv,
                                 const CaptureOptions& options);

}  // namespace yard

#endif  // TOOLS_YARD_AT_CAPTURED_H_
