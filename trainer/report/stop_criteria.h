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

// The conditions that end a trial, and what each of its reports must contain. Pure; not
// thread-safe.
//
// Corresponds to Ray Tune's `stop` dictionary, its TrialPlateauStopper and its check of metrics:
// - `stop`: {"training_iteration": 10, "eval/loss": "<0.02"}; a number is reached at >=, and a text
//   begins with <, <=, > or >=; an array holds several bounds of one metric. A bound ignores
//   reports without its metric. A nested object is refused, with a hint how to write it.
// - `plateau`: ends the trial once the population standard deviation of the last `num_results`
//   values of `metric` is under `std`, after `grace_period` reports and, with `metric_threshold`,
//   only while the last value is at least (mode "max") or at most ("min") the threshold. Reports
//   without the metric are ignored, and a NaN among the values prevents a plateau. It covers all
//   reports of a trial, over its attempts.
// - `required_metrics`: a report that lacks one is an error, which names it and lists the metrics
//   of the report; a report with nothing but `done` is exempt.
// - `time_budget_ms`: only stored here; it does not depend on reports, so a silent program uses it
//   up too.
// Differences: a threshold of 0 counts (Ray takes it for none), unknown names are refused, a report
// may lack the metric of a criterion (an error in Ray), and there are comparisons other than >=.
class StopCriteria {
 public:
  // Never ends the trial and requires nothing.
  StopCriteria() = default;
  // InvalidArgument names the option, the fault and the valid values.
  static absl::StatusOr<StopCriteria> From(const msg::TrialOptionsT& options);

  // True if no report needs to be judged.
  bool empty() const { return bounds_.empty() && !plateau_ && required_.empty(); }
  // Limit of the running time of all attempts together.
  std::optional<absl::Duration> time_budget() const { return time_budget_; }
  // Returns the reason of a trial that ended because its budget was used up.
  std::string TimeBudgetWords() const;

  // Last values of the plateau's metric, oldest first; NaN for a value that is not a number.
  using Window = std::deque<double>;
  // Returns how many values a plateau needs; 0 without a plateau.
  std::size_t window_size() const { return plateau_ ? plateau_->num_results : 0; }
  void Remember(const std::vector<Metric>& result, Window& window) const;

  struct Report {
    std::int64_t number = 0;     // Number of the report in the trial, from 1.
    std::vector<Metric> result;  // Reported and automatic fields.
    bool done = false;           // As the program reported it.
    bool says_only_done = false;
    Window window;  // Includes this report's value.
  };
  // Returns the criterion that the report meets, as text; nullopt if it meets none.
  // FailedPrecondition if the report lacks a required metric.
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
