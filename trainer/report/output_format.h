#ifndef TRAINER_REPORT_OUTPUT_FORMAT_H_
#define TRAINER_REPORT_OUTPUT_FORMAT_H_

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "trainer/report/library_lines.h"

namespace trainer {

// Decides which lines of a program's standard output are reports, and with which metrics. For
// programs that do not use the yard's own channel. Pure; any thread.
//
//   "json"      a line that is a JSON object with members; NaN, Infinity and -Infinity may occur
//   "values"    a line with one or more NAME=NUMBER: "epoch 3: loss=0.12, acc = 91.5"
//   "tag:WORD"  a line that begins with WORD, followed by one of the above
//   "keras", "xgboost", "lightgbm", "dict"
//               a line as these libraries print it, or a Python dictionary (library_lines.h)
//   "tqdm"      each state of a progress bar with NAME=NUMBER in it
//   "auto"      any of them without a tag
//
// A NAME consists of letters, digits and any of _ - . /, begins with a letter or _, and stands at
// the beginning of the line or after a space or one of ,;|([{: ; a NUMBER ends the line or is
// followed by a space or one of ,;|)]} ; true and false count as numbers. Text of any other form is
// ignored: in "lr=0.1 took=3s", took is no metric. If a line was overwritten in place (a progress
// bar, \r), its last version counts. A line has at most 1,000 values; further ones are dropped.
class OutputFormat {
 public:
  // InvalidArgument lists the valid formats.
  static absl::StatusOr<OutputFormat> From(std::string_view text);

  // Returns the metrics that a line (without its newline) reports, as a compact JSON object;
  // nullopt if the line is no report.
  std::optional<std::string> MetricsIn(std::string_view line) const;

  // Returns true if text that is overwritten later may be a report too: a state of a progress bar.
  bool reads_bars() const { return reads_bars_; }
  // Returns the bar state in `text`. Only if reads_bars().
  std::optional<BarState> BarIn(std::string_view text) const;

 private:
  using Reader = std::optional<std::string> (*)(std::string_view line);

  OutputFormat(std::vector<Reader> readers, bool reads_bars, std::string tag)
      : readers_(std::move(readers)), reads_bars_(reads_bars), tag_(std::move(tag)) {}

  std::vector<Reader> readers_;  // The first one that matches wins.
  bool reads_bars_;
  std::string tag_;  // Empty: any line.
};

}  // namespace trainer

#endif  // TRAINER_REPORT_OUTPUT_FORMAT_H_
