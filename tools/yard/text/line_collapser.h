#ifndef TOOLS_YARD_TEXT_LINE_COLLAPSER_H_
#define TOOLS_YARD_TEXT_LINE_COLLAPSER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "runtime/clock.h"

namespace yard {

// Makes one of the lines that several tasks say alike: on the same stream and near in time. (Users
// of torchrun ask for this: eight ranks print each warning eight times.)
//
// The lines of one stream of a task stay in their order, and what came first is printed first, but
// for one thing: before a line that several have said comes what each of them has said before it.
// So ranks that differ in some lines still share the others, also where their output was read in
// large pieces, one after the other. A line waits for others until `tasks` have said it, its time
// is over, or there is no more room. One thread.
class LineCollapser {
 public:
  struct Options {
    runtime::Clock* clock = runtime::Clock::Real();
    // How long a line waits at most.
    absl::Duration delay = absl::Milliseconds(200);
    // Limits of all lines that wait, with the memory that it takes to keep them.
    std::size_t max_lines = 100'000;
    std::size_t max_bytes = 64 << 20;
    // Number of tasks that can say a line: a line waits for no more. 0: any number.
    std::size_t tasks = 0;
    std::function<void(const std::vector<std::string>& tasks, bool is_error, std::string_view line)>
        print = {};
  };
  explicit LineCollapser(Options options) : options_(std::move(options)) {}

  // Prints what has to be, too.
  void Add(const std::string& task, bool is_error, std::string_view line);
  // Prints the lines whose time is over.
  void PrintDue();
  // When PrintDue() has something to do, on the clock's Monotonic(); InfiniteDuration: nothing
  // waits.
  absl::Duration NextDue() const;
  // Prints all that waits.
  void Finish();

 private:
  struct Uses {
    std::size_t lines = 0;   // That wait and have this text.
    std::size_t queues = 0;  // In which they are.
  };
  // A text that waits, once for all tasks that say it.
  using Text = std::pair<const std::string, Uses>;
  struct Line {
    Text* text;
    std::uint64_t number;  // In the order in which all lines came.
    absl::Duration due;
  };
  // Lines of one stream of a task that wait.
  struct Queue {
    std::string task;
    std::deque<Line> lines;
    std::uint64_t first = 0;  // Place of the first line; places count on.
    std::unordered_map<const Text*, std::deque<std::uint64_t>> places;

    Text* head() const { return lines.empty() ? nullptr : lines.front().text; }
  };
  using Queues = std::vector<Queue*>;
  struct Stream {
    bool is_error = false;
    std::map<std::string, Queue> by_task = {};
    Queues queues = {};  // In the order in which they came.
    std::unordered_map<std::string, Uses> texts = {};
  };

  static Queue& QueueOf(Stream* stream, const std::string& task);
  // The queues of the tasks that say this text soon, and of those that say it next.
  static Queues SayingSoon(const Stream& stream, const Text* text);
  static Queues SayingNext(const Stream& stream, const Text* text);
  bool IsFull() const;
  bool IsComplete(const Stream& stream, const Line& line) const;
  void PrintOldest();
  void PrintHeads(Stream* stream, const Queues& queues);

  const Options options_;
  Stream streams_[2] = {{.is_error = false}, {.is_error = true}};
  // The first line of each queue that has one, oldest first.
  std::map<std::uint64_t, std::pair<Stream*, Queue*>> heads_;
  std::uint64_t next_number_ = 0;
  std::size_t lines_ = 0, bytes_ = 0;
};

}  // namespace yard

#endif  // TOOLS_YARD_TEXT_LINE_COLLAPSER_H_
