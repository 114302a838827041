#ifndef TOOLS_YARD_TOP_TERMINAL_H_
#define TOOLS_YARD_TOP_TERMINAL_H_

#include <memory>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace yard::top {

// A terminal that shows a full screen and sends each key at once, as long as this lives. However
// the process ends (but for SIGKILL) it is left as it was: the destructor does that, and a handler
// of the signals that would end the process. At most one at a time; one thread.
class Terminal {
 public:
  // `changed` is a descriptor (eventfd) to which a change of the terminal's size is written.
  // FailedPrecondition if `in` or `out` is no terminal.
  static absl::StatusOr<std::unique_ptr<Terminal>> Open(int in, int out, int changed);
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // Columns and rows.
  std::pair<int, int> Size() const;
  // Blocks until the terminal has taken all of it.
  absl::Status Write(std::string_view bytes);
  // As Ctrl-Z elsewhere: stops the process; comes back when it goes on. The screen is then blank.
  void Suspend();

 private:
  Terminal(int in, int out) : in_(in), out_(out) {}
  void Enter();
  static void Leave();

  const int in_, out_;
};

}  // namespace yard::top

#endif  // TOOLS_YARD_TOP_TERMINAL_H_
