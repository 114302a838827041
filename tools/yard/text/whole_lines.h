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

// Puts pieces of output together to whole lines, those of each stream of each task by themselves.
// A piece that ends inside a line is kept, at most 1 MiB, until the rest of the line comes. A line
// is given out as it is, unfinished, when another attempt begins, when bytes are missing behind it,
// and by Finish().
//
// A prompt and a progress bar have no end for long: GiveDue() gives out what has waited for its
// rest for a second, of a line that was drawn anew with "\r" only its last form. The bytes that
// follow begin a line of their own. One thread.
class WholeLines {
 public:
  static constexpr absl::Duration kPatience = absl::Seconds(1);

  // `task` is "j-abcde/worker-0"; the line is without its end.
  using Take = std::function<void(const std::string& task, bool is_error, std::string_view line)>;
  // The clock is not owned.
  explicit WholeLines(Take take, runtime::Clock* clock = runtime::Clock::Real())
      : take_(std::move(take)), clock_(clock) {}

  void Add(const msg::LogsReplyT& part);
  void Finish();
  // True if there was any.
  bool GiveDue();
  // When GiveDue() has something to do, on the clock's Monotonic(); InfiniteDuration: nothing
  // waits.
  absl::Duration NextDue() const;

 private:
  struct Stream {
    std::uint32_t attempt = 0;
    std::uint64_t end = 0;  // Offset behind the last byte that is known.
    std::string rest;
    bool was_given = false;  // The part before the rest was given out as a line.
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
