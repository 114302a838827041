#include "trainer/report/metric_rule.h"

#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "runtime/text/json_value.h"
#include "runtime/text/string_view.h"
#include "runtime/text/utf8.h"

namespace trainer {
namespace {

std::string_view Trim(std::string_view text) {
  return runtime::Std(absl::StripAsciiWhitespace(runtime::Absl(text)));
}

absl::Status Wrong(std::string_view text, std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(
      "alert ", runtime::Quote(text.substr(0, MetricRule::kLongest)), ": ", runtime::Absl(what),
      "; write a metric, a comparison (>, >=, < or <=) and a number, such as "
      "loss>10"));
}

}  // namespace

absl::StatusOr<MetricRule> MetricRule::Parse(std::string_view text) {
  if (text.size() > kLongest) return Wrong(text, "the rule is longer than 300 bytes");
  if (!runtime::IsUtf8(text)) return Wrong(text, "the rule is not UTF-8");
  const std::string_view whole = Trim(text);
  const std::size_t sign = whole.find_last_of("<>");
  if (sign == whole.npos) return Wrong(text, "there is no comparison");
  const bool has_equal = whole.substr(sign + 1).starts_with('=');
  MetricRule rule;
  rule.text_ = std::string(whole);
  rule.metric_ = std::string(Trim(whole.substr(0, sign)));
  if (rule.metric_.empty()) return Wrong(text, "there is no metric before the comparison");
  const std::string_view number = Trim(whole.substr(sign + (has_equal ? 2 : 1)));
  if (!absl::SimpleAtod(runtime::Absl(number), &rule.number_) || !std::isfinite(rule.number_)) {
    return Wrong(text, "there is no number after the comparison");
  }
  if (whole[sign] == '<') {
    rule.comparison_ = has_equal ? Comparison::kAtMost : Comparison::kLess;
  } else {
    rule.comparison_ = has_equal ? Comparison::kAtLeast : Comparison::kMore;
  }
  return rule;
}

absl::StatusOr<std::vector<MetricRule>> MetricRule::ParseAll(
    const std::vector<std::string>& texts) {
  if (texts.size() > kMostMetricRules) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are ", texts.size(), " alerts, more than ", kMostMetricRules));
  }
  std::vector<MetricRule> rules;
  for (const std::string& text : texts) {
    auto rule = Parse(text);
    if (!rule.ok()) return rule.status();
    rules.push_back(*std::move(rule));
  }
  return rules;
}

bool MetricRule::IsMetBy(double value) const {
  switch (comparison_) {
    case Comparison::kLess:
      return value < number_;
    case Comparison::kAtMost:
      return value <= number_;
    case Comparison::kMore:
      return value > number_;
    case Comparison::kAtLeast:
      return value >= number_;
  }
  return false;
}

}  // namespace trainer
