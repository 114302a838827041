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

// Merges equal lines of several tasks on the same stream and near in time into one. (Users of
// torchrun ask for this: eight ranks print each warning eight times.)
//
// The lines of one task's stream keep their order, and lines are printed in the order of arrival,
// with one exception: before a shared line, the earlier lines of all tasks that share it are
// printed. So ranks that differ in some lines still share the others, even if their output was read
// in large pieces, one after the other. A line is held until `tasks` tasks have printed it, its
// delay has expired, or the limits are reached. One thread.
class LineCollapser {
 public:
  struct Options {
    runtime::Clock* clock = runtime::Clock::Real();
    // Maximum time that a line is held.
    absl::Duration delay = absl::Milliseconds(200);
    // Limits of all held lines, including the memory overhead.
    std::size_t max_lines = 100'000;
    std::size_t max_bytes = 64 << 20;
    // Number of tasks that can print a line, after which it need not be held; 0 if unknown.
    std::size_t tasks = 0;
    std::function<void(const std::vector<std::string>& tasks, bool is_error, std::string_view line)>
        print = {};
  };
  explicit LineCollapser(Options options) : options_(std::move(options)) {}

  // Adds a line, and prints those that are due.
  void Add(const std::string& task, bool is_error, std::string_view line);
  // Prints the lines whose delay has expired.
  void PrintDue();
  // Time of the next PrintDue(), on the clock's Monotonic(); InfiniteDuration if no line is
  // held.
  absl::Duration NextDue() const;
  // Prints all held lines.
  void Finish();

 private:
  struct Uses {
    std::size_t lines = 0;   // Held lines with this text.
    std::size_t queues = 0;  // Queues that contain them.
  };
  // A held text, stored once for all tasks that print it.
  using Text = std::pair<const std::string, Uses>;
  struct Line {
    Text* text;
    std::uint64_t number;  // In the order of arrival.
    absl::Duration due;
  };
  // Held lines of one stream of a task.
  struct Queue {
    std::string task;
    std::deque<Line> lines;
    std::uint64_t first = 0;  // Place of the first line; places never restart.
    std::unordered_map<const Text*, std::deque<std::uint64_t>> places;

    Text* head() const { return lines.empty() ? nullptr : lines.front().text; }
  };
  using Queues = std::vector<Queue*>;
  struct Stream {
    bool is_error = false;
    std::map<std::string, Queue> by_task = {};
    Queues queues = {};  // In the order of their first lines.
    std::unordered_map<std::string, Uses> texts = {};
  };

  static Queue& QueueOf(Stream* stream, const std::string& task);
  // Returns the queues that contain this text soon, or that begin with it.
  static Queues SayingSoon(const Stream& stream, const Text* text);
  static Queues SayingNext(const Stream& stream, const Text* text);
  bool IsFull() const;
  bool IsComplete(const Stream& stream, const Line& line) const;
  void PrintOldest();
  void PrintHeads(Stream* stream, const Queues& queues);

  const Options options_;
  Stream streams_[2] = {{.is_error = false}, {.is_error = true}};
  // First line of each queue that is not empty, oldest first.
  std::map<std::uint64_t, std::pair<Stream*, Queue*>> heads_;
  std::uint64_t next_number_ = 0;
  std::size_t lines_ = 0, bytes_ = 0;
};

}  // namespace yard

#endif  // TOOLS_YARD_TEXT_LINE_COLLAPSER_H_
