#ifndef TRAINER_ATTEMPT_OUTPUT_READER_H_
#define TRAINER_ATTEMPT_OUTPUT_READER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "runtime/event_loop.h"
#include "runtime/timer.h"
#include "trainer/report/output_format.h"

namespace trainer {

// Reads reports from the file of a program's standard output while the file grows. Ray Tune has no
// such reader (Katib's metrics collector is one). The program waits for no answer, so this is not
// lock step.
//
// A report's number is the file offset of its line's end, so a receiver that stores the number with
// the report takes each report once, across restarts. If the format reads progress bars, each state
// of a bar is a report, numbered by its own end and taken once the bar advances or the line ends. A
// state with the same metrics as the previous state is skipped if it is at either end of the bar or
// at the same place. A line that cannot be stored is retried after a second. A last line without a
// newline counts when the program has ended; a line longer than 1 MiB is skipped.
//
// Use it on the loop's thread, which reads at most 256 KiB at a time (more for a longer line).
// Destroy it there, but not from inside `take`.
class OutputReader {
 public:
  struct Line {
    std::int64_t end = 0;  // Offset after the line, in bytes.
    std::string metrics;   // A JSON object.
  };
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned; outlives it.
    std::string path;                    // The file need not exist yet.
    std::int64_t offset = 0;             // Output before this offset is known already.
    OutputFormat format;
    // Called when output was written, with its complete reports, possibly none. Returns false if it
    // must be called with the same reports again.
    std::function<bool(const std::vector<Line>&)> take;
    absl::Duration interval = absl::Milliseconds(100);
  };
  explicit OutputReader(Options options);
  OutputReader(const OutputReader&) = delete;
  OutputReader& operator=(const OutputReader&) = delete;

  // Call it when the program has ended. `done` runs once, when all output was taken, and may
  // destroy this object; nothing is read afterwards. `took_all` is false only after GiveUp().
  void Finish(std::function<void(bool took_all)> done);
  // After the program's end, output that cannot be taken is tried once more and then dropped.
  void GiveUp();

 private:
  void Look();
  void LookAfter(absl::Duration delay);
  // Calls `done_`.
  void End(bool took_all);
  // Reads bytes of the file from `offset_` on.
  std::string Read() const;
  // Takes the reports of complete lines and, at the end of the file, of a last line without a
  // newline.
  bool TakeFrom(std::string_view bytes, bool is_last);
  // Where a line ends (npos if its end is not written yet), and where the next one begins.
  struct LineEnd {
    std::size_t end, next;
    bool is_overwritten;  // The line ends with \r: only a bar's state counts.
  };
  LineEnd EndOf(std::string_view bytes, std::size_t begin, bool is_last) const;
  struct State {
    BarState bar;
    std::int64_t end = 0;  // Offset after the state.
    std::size_t begin = 0;
  };
  // Adds the state of a bar unless it repeats the previous one.
  static void AddState(const State& state, BarState& before, std::vector<Line>& lines);
  // Returns the bar state that ends at the initial offset, if one does.
  BarState StateBefore() const;
  void Add(std::string_view line, std::int64_t end, std::vector<Line>& lines) const;

  const Options options_;
  std::int64_t offset_;        // After the last complete line taken, or after a part of a long one.
  std::int64_t seen_;          // How far the file was read.
  bool in_long_line_ = false;  // The rest of this line is to be skipped.
  BarState last_state_;        // The last bar state that was taken.
  std::size_t want_;           // Bytes to read next time.
  std::function<void(bool took_all)> done_;
  bool gives_up_ = false;
  runtime::Timer timer_;
};

}  // namespace trainer

#endif  // TRAINER_ATTEMPT_OUTPUT_READER_H_
