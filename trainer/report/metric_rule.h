#ifndef TRAINER_REPORT_METRIC_RULE_H_
#define TRAINER_REPORT_METRIC_RULE_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace trainer {

// A comparison of a metric with a number, such as "loss>10" or "eval/accuracy <= 0.1". The text is
// split at the last comparison sign, so a metric's name may contain any character.
class MetricRule {
 public:
  static constexpr std::size_t kLongest = 300;  // Longest text, in bytes.

  // InvalidArgument names the fault and shows the syntax of a rule.
  static absl::StatusOr<MetricRule> Parse(std::string_view text);
  static absl::StatusOr<std::vector<MetricRule>> ParseAll(const std::vector<std::string>& texts);

  const std::string& metric() const { return metric_; }
  const std::string& text() const { return text_; }  // As written, trimmed.
  // Returns false for NaN.
  bool IsMetBy(double value) const;

 private:
  enum class Comparison { kLess, kAtMost, kMore, kAtLeast };
  std::string text_, metric_;
  Comparison comparison_ = Comparison::kMore;
  double number_ = 0;
};

inline constexpr std::size_t kMostMetricRules = 100;

}  // namespace trainer

#endif  // TRAINER_REPORT_METRIC_RULE_H_
