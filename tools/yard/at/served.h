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

// The side of `yard --over_ssh`, which ssh has started on this machine for a yard on another one.

// Prints the greeting; `program` is the path by which this program was started.
void PrintGreeting(const std::string& program, std::ostream& out);

// Returns when stdin ends.
void HoldUntilStdinEnds();

// A request, and the environment in which it stands: locations are set for this process and all
// that it starts, `personal` ones only for this process, after `environment` was read.
struct ServedRequest {
  std::vector<std::string> words = {};
  std::vector<std::string> environment = {};  // "NAME=value", for programs.
  bool in_terminal = false;
};
absl::StatusOr<ServedRequest> TakeRequest(std::string_view word);

// The caller on the other machine, as long as its stdin has frames: gives the verb a stdin of its
// own, raises an interrupt when one comes, and ends this process with 129 (as SIGHUP would) once
// the caller has gone. One for a process, never destroyed.
class Caller {
 public:
  // Takes stdin over. The thread runs until the process ends.
  static absl::StatusOr<Caller*> Attend(Interrupt* interrupt);
  // The verb goes on to its end also without a caller.
  void LetGoOn() { goes_on_ = true; }

 private:
  Caller(runtime::UniqueFd frames, runtime::UniqueFd verbs_stdin, Interrupt* interrupt)
      : frames_(std::move(frames)), verbs_stdin_(std::move(verbs_stdin)), interrupt_(interrupt) {}
  void Read();
  void Gone();
  // False: the caller has gone.
  bool Write(std::string_view data);

  runtime::UniqueFd frames_;       // The stdin that this process began with.
  runtime::UniqueFd verbs_stdin_;  // Written to; closed at the end of data.
  Interrupt* const interrupt_;
  std::atomic<bool> goes_on_ = false;
};

}  // namespace yard

#endif  // TOOLS_YARD_AT_SERVED_H_
