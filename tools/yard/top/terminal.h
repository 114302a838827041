#ifndef TOOLS_YARD_TOP_TERMINAL_H_
#define TOOLS_YARD_TOP_TERMINAL_H_

#include <memory>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace yard::top {

// Puts a terminal into full-screen mode without line buffering, for as long as this object lives.
// The terminal is restored however the process ends (except by SIGKILL): by the destructor, or by a
// handler of fatal signals. At most one at a time; one thread.
class Terminal {
 public:
  // `changed` is an eventfd that is written to when the terminal's size changes. FailedPrecondition
  // if `in` or `out` is not a terminal.
  static absl::StatusOr<std::unique_ptr<Terminal>> Open(int in, int out, int changed);
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // Returns columns and rows.
  std::pair<int, int> Size() const;
  // Blocks until the terminal has accepted all bytes.
  absl::Status Write(std::string_view bytes);
  // Stops the process like Ctrl-Z; returns when it is continued, with a blank screen.
  void Suspend();

 private:
  Terminal(int in, int out) : in_(in), out_(out) {}
  void Enter();
  static void Leave();

  const int in_, out_;
};

}  // namespace yard::top

#endif  // TOOLS_YARD_TOP_TERMINAL_H_
