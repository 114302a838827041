#include "trainer/report/stop_criteria.h"

#include <cmath>
#include <limits>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/text/json_value.h"
#include "runtime/text/string_view.h"
#include "runtime/text/utf8.h"

namespace trainer {
namespace {

using runtime::JsonValue;

constexpr std::size_t kMaxText = 64 << 10;
constexpr std::size_t kMaxBounds = 100;
constexpr std::size_t kMaxRequired = 1000;
constexpr std::int64_t kMaxResults = 1000;
constexpr std::int64_t kMaxGrace = 1'000'000'000;
constexpr std::size_t kNamesInAnError = 20;
constexpr std::size_t kLongestNameInAnError = 100;
// Longer budgets are never used up, and exceed a duration in whole microseconds.
constexpr std::uint64_t kLongestBudgetMs = 1'000'000'000'000;

absl::Status Wrong(std::string_view what) {
  return absl::InvalidArgumentError(runtime::Absl(what));
}

absl::StatusOr<JsonValue> ReadObject(std::string_view option, const std::string& text) {
  const std::string name(option);
  if (text.size() > kMaxText) {
    return Wrong(absl::StrCat(name, " has ", text.size(), " bytes, more than ", kMaxText));
  }
  auto json = runtime::ParseJson(text);
  if (!json.ok()) return Wrong(absl::StrCat(name, ": ", json.status().message()));
  if (json->kind != JsonValue::Kind::kObject) {
    return Wrong(absl::StrCat(name, " must be a JSON object"));
  }
  return json;
}

bool IsFinite(const JsonValue& value) { return value.IsNumber() && std::isfinite(value.number); }

const Metric* Find(const std::vector<Metric>& result, std::string_view name) {
  for (const Metric& metric : result) {
    if (metric.name == name) return &metric;
  }
  return nullptr;
}

// Lists a program's own metric names. Truncated, because names may be many and long.
std::string NamesOf(const std::vector<Metric>& result) {
  std::string names;
  for (std::size_t i = 0; i < result.size() && i < kNamesInAnError; ++i) {
    absl::StrAppend(&names, i == 0 ? "" : ", ",
                    runtime::ValidUtf8(result[i].name.substr(0, kLongestNameInAnError)));
  }
  if (result.size() <= kNamesInAnError) return names;
  return absl::StrCat(names, " and ", result.size() - kNamesInAnError, " more");
}

absl::Status Lacks(std::string_view name, const std::vector<Metric>& result) {
  return absl::FailedPreconditionError(
      absl::StrCat("the required metric ", runtime::Quote(name),
                   " is not in the report; it has: ", NamesOf(result)));
}

std::string ShortNumber(double number) { return absl::StrFormat("%.6g", number); }

double DeviationOf(const StopCriteria::Window& values) {
  double mean = 0, squares = 0;
  const auto count = static_cast<double>(values.size());
  for (const double value : values) mean += value / count;
  for (const double value : values) squares += (value - mean) * (value - mean) / count;
  return std::sqrt(squares);
}

}  // namespace

absl::StatusOr<StopCriteria> StopCriteria::From(const msg::TrialOptionsT& options) {
  StopCriteria criteria;
  if (!options.stop.empty()) {
    auto bounds = ReadBounds(options.stop);
    if (!bounds.ok()) return bounds.status();
    criteria.bounds_ = *std::move(bounds);
  }
  if (!options.plateau.empty()) {
    auto plateau = ReadPlateau(options.plateau);
    if (!plateau.ok()) return plateau.status();
    criteria.plateau_ = *std::move(plateau);
  }
  if (options.required_metrics.size() > kMaxRequired) {
    return Wrong(absl::StrCat("required_metrics has ", options.required_metrics.size(),
                              " names, more than ", kMaxRequired));
  }
  for (const std::string& name : options.required_metrics) {
    if (name.empty() || name.size() > kMaxText) {
      return Wrong("required_metrics holds a name that is empty or longer than 64 KiB");
    }
  }
  criteria.required_ = options.required_metrics;
  if (options.time_budget_ms > kLongestBudgetMs) {
    return Wrong(absl::StrCat("time_budget_ms is more than ", kLongestBudgetMs));
  }
  if (options.time_budget_ms > 0) {
    criteria.time_budget_ = absl::Milliseconds(static_cast<std::int64_t>(options.time_budget_ms));
  }
  return criteria;
}

bool StopCriteria::Bound::IsReachedBy(double value) const {
  switch (comparison) {
    case Comparison::kLess:
      return value < number;
    case Comparison::kAtMost:
      return value <= number;
    case Comparison::kMore:
      return value > number;
    case Comparison::kAtLeast:
      return value >= number;
  }
  return false;
}

std::string StopCriteria::Bound::Words() const {
  const char* const what = comparison == Comparison::kLess     ? " has fallen below "
                           : comparison == Comparison::kAtMost ? " has fallen to "
                           : comparison == Comparison::kMore   ? " has risen above "
                                                               : " has reached ";
  return absl::StrCat(metric, what, ShortNumber(number));
}

absl::StatusOr<StopCriteria::Bound> StopCriteria::ReadBound(const std::string& metric,
                                                            const JsonValue& value) {
  using Comparison = Bound::Comparison;
  if (value.kind == JsonValue::Kind::kObject) {
    std::string path = metric;
    for (const JsonValue* at = &value; at->kind == JsonValue::Kind::kObject;) {
      absl::StrAppend(&path, "/", at->members.empty() ? "NAME" : at->members.front().first);
      if (at->members.empty()) break;
      at = &at->members.front().second;
    }
    return Wrong(absl::StrCat("the stop criterion ", runtime::Quote(metric),
                              " is an object: write its path, ", runtime::Quote(path)));
  }
  const absl::Status wrong = Wrong(absl::StrCat(
      "the stop criterion ", runtime::Quote(metric),
      " needs a name and a finite number, or a text such as \"<0.5\" (<, <=, > or >=)"));
  if (metric.empty()) return wrong;
  if (IsFinite(value)) return Bound{metric, Comparison::kAtLeast, value.number};
  const std::string text = value.kind == JsonValue::Kind::kString ? runtime::StringOf(value) : "";
  for (const auto& [sign, comparison] : {std::pair("<=", Comparison::kAtMost),
                                         {">=", Comparison::kAtLeast},
                                         {"<", Comparison::kLess},
                                         {">", Comparison::kMore}}) {
    if (!absl::StartsWith(text, sign)) continue;
    const std::string rest = text.substr(std::string_view(sign).size());
    const auto number = runtime::ParseJson(rest);
    if (number.ok() && IsFinite(*number)) return Bound{metric, comparison, number->number};
    return wrong;
  }
  return wrong;
}

absl::StatusOr<std::vector<StopCriteria::Bound>> StopCriteria::ReadBounds(const std::string& text) {
  auto json = ReadObject("stop", text);
  if (!json.ok()) return json.status();
  std::vector<Bound> bounds;
  for (const auto& [name, value] : json->members) {
    const bool is_array = value.kind == JsonValue::Kind::kArray && !value.items.empty();
    const std::size_t count = is_array ? value.items.size() : 1;
    for (std::size_t i = 0; i < count; ++i) {
      auto bound = ReadBound(name, is_array ? value.items[i] : value);
      if (!bound.ok()) return bound.status();
      bounds.push_back(*std::move(bound));
    }
  }
  if (bounds.size() <= kMaxBounds) return bounds;
  return Wrong(absl::StrCat("stop has ", bounds.size(), " criteria, more than ", kMaxBounds));
}

absl::StatusOr<StopCriteria::Plateau> StopCriteria::ReadPlateau(const std::string& text) {
  auto json = ReadObject("plateau", text);
  if (!json.ok()) return json.status();
  Plateau plateau;
  std::string mode;
  for (const auto& [name, value] : json->members) {
    const bool is_null = value.kind == JsonValue::Kind::kNull;
    const auto whole = [&value = value](std::int64_t least, std::int64_t most) {
      return value.kind == JsonValue::Kind::kInteger && value.integer >= least &&
             value.integer <= most;
    };
    std::string needs;
    if (name == "metric") {
      if (value.kind == JsonValue::Kind::kString) plateau.metric = runtime::StringOf(value);
      if (plateau.metric.empty()) needs = "the name of a metric";
    } else if (name == "std") {
      if (!IsFinite(value) || value.number < 0) needs = "a number of at least 0";
      plateau.std = value.number;
    } else if (name == "num_results") {
      if (!whole(1, kMaxResults)) needs = absl::StrCat("a whole number of 1 to ", kMaxResults);
      plateau.num_results = static_cast<std::size_t>(value.integer);
    } else if (name == "grace_period") {
      if (!whole(0, kMaxGrace)) needs = absl::StrCat("a whole number of 0 to ", kMaxGrace);
      plateau.grace_period = value.integer;
    } else if (name == "metric_threshold") {
      if (!is_null && !IsFinite(value)) needs = "a finite number";
      if (!is_null) plateau.threshold = value.number;
    } else if (name == "mode") {
      if (!is_null) mode = runtime::StringOf(value);
      if (!is_null && mode != "min" && mode != "max") needs = "\"min\" or \"max\"";
    } else {
      return Wrong(absl::StrCat("plateau has no option ", runtime::Quote(name),
                                "; there are: metric, std, num_results, grace_period, "
                                "metric_threshold, mode"));
    }
    if (!needs.empty()) return Wrong(absl::StrCat("plateau: ", name, " must be ", needs));
  }
  if (plateau.metric.empty()) return Wrong("plateau needs a \"metric\"");
  if (plateau.threshold && mode.empty()) {
    return Wrong("plateau: metric_threshold needs a mode, \"min\" or \"max\"");
  }
  plateau.smaller_is_better = mode == "min";
  return plateau;
}

std::string StopCriteria::TimeBudgetWords() const {
  return absl::StrCat("its time budget of ",
                      absl::FormatDuration(time_budget_.value_or(absl::ZeroDuration())),
                      " is used up");
}

void StopCriteria::Remember(const std::vector<Metric>& result, Window& window) const {
  if (!plateau_) return;
  const Metric* const metric = Find(result, plateau_->metric);
  if (metric == nullptr) return;
  window.push_back(metric->number.value_or(std::numeric_limits<double>::quiet_NaN()));
  while (window.size() > plateau_->num_results) window.pop_front();
}

absl::StatusOr<std::optional<std::string>> StopCriteria::Judge(const Report& report) const {
  for (const std::string& name : required_) {
    if (report.says_only_done) break;
    if (Find(report.result, name) == nullptr) {
      return Lacks(name, report.result);
    }
  }
  if (report.done) return std::nullopt;
  for (const Bound& bound : bounds_) {
    const Metric* const metric = Find(report.result, bound.metric);
    if (metric == nullptr) continue;
    if (!metric->number) {
      return absl::FailedPreconditionError(absl::StrCat(
          "the stop criterion ", runtime::Quote(bound.metric), " is no number in the report"));
    }
    if (bound.IsReachedBy(*metric->number)) return bound.Words();
  }
  return JudgePlateau(report);
}

std::optional<std::string> StopCriteria::JudgePlateau(const Report& report) const {
  if (!plateau_ || report.number < plateau_->grace_period) return std::nullopt;
  if (Find(report.result, plateau_->metric) == nullptr) return std::nullopt;
  if (report.window.size() < plateau_->num_results) return std::nullopt;
  const double last = report.window.back();
  if (plateau_->threshold) {
    const bool beyond =
        plateau_->smaller_is_better ? last <= *plateau_->threshold : last >= *plateau_->threshold;
    if (!beyond) return std::nullopt;
  }
  // The comparison is false for NaN.
  if (!(DeviationOf(report.window) < plateau_->std)) return std::nullopt;
  return absl::StrCat(plateau_->metric,
                      " has reached a plateau: the standard deviation of its last ",
                      plateau_->num_results, " values is under ", ShortNumber(plateau_->std));
}

}  // namespace trainer
