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

// Reads the reports in the file of a program's standard output while that grows. Ray Tune has no
// such thing (Katib's metrics collector does); nobody waits for an answer, so this is no lock step.
//
// A report is numbered by the offset of its line's end in the file, so a receiver that stores the
// number with the report takes each once, over any restart. If the format reads bars, each state
// of a bar is a report, numbered by its own end, once the bar goes on or the line ends. A state
// that repeats the metrics of the state before is not reported if it is at an end of the bar or at
// the same place. A line that cannot be stored now is read again a second later. A last line
// without a newline counts at the end; one of over 1 MiB is passed over.
//
// On the loop's thread, which reads at most 256 KiB at a time. Destroy it there, but not from
// inside of `take`.
class OutputReader {
 public:
  struct Line {
    std::int64_t end = 0;  // Offset behind it, in bytes.
    std::string metrics;   // A JSON object.
  };
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned; outlives it.
    std::string path;                    // It may not be there yet.
    std::int64_t offset = 0;             // Output before it is known.
    OutputFormat format;
    // Something was written: the whole reports, perhaps none. False: they are to come again.
    std::function<bool(const std::vector<Line>&)> take;
    absl::Duration interval = absl::Milliseconds(100);
  };
  explicit OutputReader(Options options);
  OutputReader(const OutputReader&) = delete;
  OutputReader& operator=(const OutputReader&) = delete;

  // The program has ended: `done` runs, once, when all that it has written was taken; from then on
  // nothing is read. It may destroy this. Not all of it is taken only after GiveUp().
  void Finish(std::function<void(bool took_all)> done);
  // Nobody waits any more for what cannot be taken after the program's end: that is tried once.
  void GiveUp();

 private:
  void Look();
  void LookAfter(absl::Duration delay);
  // Tells `done_`.
  void End(bool took_all);
  // Bytes of the file behind `offset_`.
  std::string Read() const;
  // The reports in whole lines; also in the last one without a newline if the file is at its end.
  bool TakeFrom(std::string_view bytes, bool is_last);
  // The end of the line that begins there, npos if it is not there yet; where the next one begins.
  struct LineEnd {
    std::size_t end, next;
    bool is_overwritten;  // It ends with \r: only a bar's state counts.
  };
  LineEnd EndOf(std::string_view bytes, std::size_t begin, bool is_last) const;
  struct State {
    BarState bar;
    std::int64_t end = 0;  // Offset behind it.
    std::size_t begin = 0;
  };
  // Adds the state of a bar that is not overwritten by one of the same place.
  static void AddState(const State& state, BarState& before, std::vector<Line>& lines);
  // The state of a bar that ends at the first offset, if one does.
  BarState StateBefore() const;
  void Add(std::string_view line, std::int64_t end, std::vector<Line>& lines) const;

  const Options options_;
  std::int64_t
      offset_;         // Behind the last whole line that was taken, or behind a part of a long one.
  std::int64_t seen_;  // How far the file was read.
  bool in_long_line_ = false;  // That is to be passed over to its end.
  BarState last_state_;        // The state of a bar that was taken last.
  std::size_t want_;           // Bytes to read the next time.
  std::function<void(bool took_all)> done_;
  bool gives_up_ = false;
  runtime::Timer timer_;
};

}  // namespace trainer

#endif  // TRAINER_ATTEMPT_OUTPUT_READER_H_
