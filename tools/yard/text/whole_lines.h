#ifndef TOOLS_YARD_TEXT_WHOLE_LINES_H_
#define TOOLS_YARD_TEXT_WHOLE_LINES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "absl/time/time.h"
#include "bus/schema/launcher_generated.h"
#include "runtime/clock.h"

namespace yard {

// Assembles pieces of output into whole lines, separately for each stream of each task. An
// incomplete line of at most 1 MiB is held until its end arrives. It is passed on
// incomplete when another attempt begins, when bytes after it are missing, and by
// Finish().
//
// Prompts and progress bars stay incomplete for long: GiveDue() passes on what has been held for a
// second; of a line redrawn with "\r", only the last form. Later bytes of it start a new line. One
// thread.
class WholeLines {
 public:
  static constexpr absl::Duration kPatience = absl::Seconds(1);

  // `task` is "j-abcde/worker-0"; `line` has no newline.
  using Take = std::function<void(const std::string& task, bool is_error, std::string_view line)>;
  // The clock is not owned.
  explicit WholeLines(Take take, runtime::Clock* clock = runtime::Clock::Real())
      : take_(std::move(take)), clock_(clock) {}

  // Adds a part of the output; passes on the lines that it completes.
  void Add(const msg::LogsReplyT& part);
  // Passes on all incomplete lines.
  void Finish();
  // Returns true if a line was passed on.
  bool GiveDue();
  // Time of the next GiveDue(), on the clock's Monotonic(); InfiniteDuration if nothing is
  // held.
  absl::Duration NextDue() const;

 private:
  struct Stream {
    std::uint32_t attempt = 0;
    std::uint64_t end = 0;  // Offset after the last received byte.
    std::string rest;
    bool was_given = false;  // The line's beginning was already passed on.
    absl::Duration due = absl::InfiniteDuration();
  };
  using Name = std::pair<std::string, bool>;

  void Give(const Name& name, Stream* stream, std::string_view line);
  void Finish(const Name& name, Stream* stream);

  const Take take_;
  runtime::Clock* const clock_;
  std::map<Name, Stream> streams_;
};

}  // namespace yard

#endif  // TOOLS_YARD_TEXT_WHOLE_LINES_H_
