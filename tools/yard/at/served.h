#ifndef TOOLS_YARD_AT_SERVED_H_
#define TOOLS_YARD_AT_SERVED_H_

#include <atomic>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/file/unique_fd.h"
#include "tools/yard/cli/interrupt.h"

namespace yard {

// The remote end: `yard --over_ssh`, which ssh starts on this machine for a yard on another one.

// Prints the greeting; `program` is the path with which this program was started.
void PrintGreeting(const std::string& program, std::ostream& out);

// Blocks until stdin ends.
void HoldUntilStdinEnds();

// A request and its environment. Locations are set for this process and everything it starts;
// `personal` variables only for this process, after `environment` was captured.
struct ServedRequest {
  std::vector<std::string> words = {};
  std::vector<std::string> environment = {};  // "NAME=value", for programs.
  bool in_terminal = false;
};
absl::StatusOr<ServedRequest> TakeRequest(std::string_view word);

// The caller on the other machine, who sends frames to our stdin: provides the verb's stdin, raises
// interrupts, and ends this process with 129 (as SIGHUP would) once the caller is gone. One per
// process, never destroyed.
class Caller {
 public:
  // Takes over stdin. Its thread runs until the process exits.
  static absl::StatusOr<Caller*> Attend(Interrupt* interrupt);
  // Lets the verb run to its end even without a caller.
  void LetGoOn() { goes_on_ = true; }

 private:
  Caller(runtime::UniqueFd frames, runtime::UniqueFd verbs_stdin, Interrupt* interrupt)
      : frames_(std::move(frames)), verbs_stdin_(std::move(verbs_stdin)), interrupt_(interrupt) {}
  void Read();
  void Gone();
  // Returns false if the caller is gone.
  bool Write(std::string_view data);

  runtime::UniqueFd frames_;       // The original stdin of this process.
  runtime::UniqueFd verbs_stdin_;  // Write end of the verb's stdin; closed at kEnd.
  Interrupt* const interrupt_;
  std::atomic<bool> goes_on_ = false;
};

}  // namespace yard

#endif  // TOOLS_YARD_AT_SERVED_H_
