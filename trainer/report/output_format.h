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

// Decides which lines of a program's standard output are reports, and of which metrics: for
// programs that know nothing of the yard. Pure; any thread.
//
//   "json"      a line that is a JSON object with members; NaN, Infinity and -Infinity may occur
//   "values"    a line with NAME=NUMBER in it, once or more: "epoch 3: loss=0.12, acc = 91.5"
//   "tag:WORD"  a line that begins with WORD, and then either of these
//   "keras", "xgboost", "lightgbm", "dict"
//               a line as these libraries, or Python of a dictionary, print it (library_lines.h)
//   "tqdm"      each state of a bar with NAME=NUMBER in it
//   "auto"      any of them without a tag
//
// A NAME is letters, digits and any of _ - . /, begins with a letter or _, and stands at the line's
// beginning or behind a space or one of ,;|([{: ; a number ends the line or stands before a space
// or one of ,;|)]} ; true and false count as numbers do. Text of any other form is passed over: in
// "lr=0.1 took=3s" took is no metric. If a line was overwritten in place (a progress bar, \r) the
// last writing counts. At most 1,000 values a line, the later ones are passed over.
class OutputFormat {
 public:
  // InvalidArgument says what it may be.
  static absl::StatusOr<OutputFormat> From(std::string_view text);

  // The metrics that a line (without its newline) reports, as a compact JSON object; nothing if it
  // is no report.
  std::optional<std::string> MetricsIn(std::string_view line) const;

  // Whether what is overwritten later may be a report, too: a state of a bar.
  bool reads_bars() const { return reads_bars_; }
  // Only if it reads bars.
  std::optional<BarState> BarIn(std::string_view text) const;

 private:
  using Reader = std::optional<std::string> (*)(std::string_view line);

  OutputFormat(std::vector<Reader> readers, bool reads_bars, std::string tag)
      : readers_(std::move(readers)), reads_bars_(reads_bars), tag_(std::move(tag)) {}

  std::vector<Reader> readers_;  // The first one that finds something counts.
  bool reads_bars_;
  std::string tag_;  // Empty: every line.
};

}  // namespace trainer

#endif  // TRAINER_REPORT_OUTPUT_FORMAT_H_
