#ifndef TRAINER_REPORT_STOP_CRITERIA_H_
#define TRAINER_REPORT_STOP_CRITERIA_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bus/schema/trainer_generated.h"
#include "runtime/text/json_value.h"
#include "trainer/report/report_line.h"

namespace trainer {

// When a trial ends by itself, and what each of its reports must have. Pure; one thread.
//
// Re-imagines Ray Tune's `stop` dictionary, its TrialPlateauStopper and its check of metrics:
// - `stop`: {"training_iteration": 10, "eval/loss": "<0.02"}; a number is reached at >=, and a text
//   begins with <, <=, > or >=; several of one metric are an array. A report without one of them is
//   not judged by that. A nested object is refused, saying how to write it.
// - `plateau`: ends once the last `num_results` values of `metric` differ by a standard deviation
//   (of the population) under `std`, after `grace_period` reports, and with `metric_threshold` only
//   while the last value is at least (mode "max") or at most ("min") that. A report without the
//   metric counts for nothing, and one with NaN is no plateau. It sees all reports of a trial, over
//   its attempts.
// - `required_metrics`: a report without one is an error, which names it and what there is; but not
//   one that says only `done`.
// - `time_budget_ms`: is kept here, and no matter of reports: a program that says nothing uses it
//   up, too.
// Different: a threshold of 0 counts (there it is taken for none), unknown names are refused; a
// report may lack what a criterion is about (there it is an error); other comparisons than >=.
class StopCriteria {
 public:
  // Never ends it, asks for nothing.
  StopCriteria() = default;
  // InvalidArgument names the option, what is wrong and what it may be.
  static absl::StatusOr<StopCriteria> From(const msg::TrialOptionsT& options);

  // True if no report needs to be judged.
  bool empty() const { return bounds_.empty() && !plateau_ && required_.empty(); }
  // Limit of the time in which attempts run, together.
  std::optional<absl::Duration> time_budget() const { return time_budget_; }
  // Why a trial ended that has used it up.
  std::string TimeBudgetWords() const;

  // The last values of the plateau's metric, oldest first; NaN where it was no number.
  using Window = std::deque<double>;
  // How many are needed; 0 without a plateau.
  std::size_t window_size() const { return plateau_ ? plateau_->num_results : 0; }
  void Remember(const std::vector<Metric>& result, Window& window) const;

  struct Report {
    std::int64_t number = 0;     // Counts the trial's reports from 1.
    std::vector<Metric> result;  // Reported and automatic fields.
    bool done = false;           // As the program said.
    bool says_only_done = false;
    Window window;  // With this report's value.
  };
  // The criterion that the report meets, in words, or nothing. FailedPrecondition: it lacks
  // something.
  absl::StatusOr<std::optional<std::string>> Judge(const Report& report) const;

 private:
  struct Plateau {
    std::string metric;
    double std = 0.01;
    std::size_t num_results = 4;
    std::int64_t grace_period = 4;
    std::optional<double> threshold;
    bool smaller_is_better = false;
  };
  struct Bound {
    enum class Comparison { kLess, kAtMost, kMore, kAtLeast };
    std::string metric;
    Comparison comparison = Comparison::kAtLeast;
    double number = 0;

    bool IsReachedBy(double value) const;
    std::string Words() const;
  };
  static absl::StatusOr<std::vector<Bound>> ReadBounds(const std::string& text);
  static absl::StatusOr<Bound> ReadBound(const std::string& metric,
                                         const runtime::JsonValue& value);
  static absl::StatusOr<Plateau> ReadPlateau(const std::string& text);
  std::optional<std::string> JudgePlateau(const Report& report) const;

  std::vector<Bound> bounds_;
  std::optional<Plateau> plateau_;
  std::vector<std::string> required_;
  std::optional<absl::Duration> time_budget_;
};

}  // namespace trainer

#endif  // TRAINER_REPORT_STOP_CRITERIA_H_
