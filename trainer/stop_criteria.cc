#include "trainer/stop_criteria.h"

#include <cmath>
#include <limits>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/string_view.h"
#include "trainer/json_text.h"

namespace trainer {
namespace {

constexpr std::size_t kMaxText = 64 << 10;
constexpr std::size_t kMaxBounds = 100;
constexpr std::size_t kMaxRequired = 1000;
constexpr std::int64_t kMaxResults = 1000;
constexpr std::int64_t kMaxGrace = 1'000'000'000;
constexpr std::size_t kNamesInAnError = 20;
constexpr std::size_t kLongestNameInAnError = 100;
// Longer ones are never used up, and fit no duration of whole microseconds.
constexpr std::uint64_t kLongestBudgetMs = 1'000'000'000'000;

absl::Status Wrong(std::string_view what) {
  return absl::InvalidArgumentError(runtime::Absl(what));
}

absl::StatusOr<JsonValue> ReadObject(std::string_view option, const std::string& text) {
  const std::string name(option);
  if (text.size() > kMaxText) {
    return Wrong(absl::StrCat(name, " has ", text.size(), " bytes, more than ", kMaxText));
  }
  auto json = ParseJson(text);
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

// Of a program's own names: any length, any number.
std::string NamesOf(const std::vector<Metric>& result) {
  std::string names;
  for (std::size_t i = 0; i < result.size() && i < kNamesInAnError; ++i) {
    absl::StrAppend(&names, i == 0 ? "" : ", ",
                    ValidUtf8(result[i].name.substr(0, kLongestNameInAnError)));
  }
  if (result.size() <= kNamesInAnError) return names;
  return absl::StrCat(names, " and ", result.size() - kNamesInAnError, " more");
}

absl::Status Lacks(std::string_view what, std::string_view name,
                   const std::vector<Metric>& result) {
  return absl::FailedPreconditionError(absl::StrCat(
      runtime::Absl(what), " ", Quote(name), " is not in the report; it has: ", NamesOf(result)));
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

absl::StatusOr<std::vector<std::pair<std::string, double>>> StopCriteria::ReadBounds(
    const std::string& text) {
  auto json = ReadObject("stop", text);
  if (!json.ok()) return json.status();
  if (json->members.size() > kMaxBounds) {
    return Wrong(
        absl::StrCat("stop has ", json->members.size(), " criteria, more than ", kMaxBounds));
  }
  std::vector<std::pair<std::string, double>> bounds;
  for (const auto& [name, value] : json->members) {
    if (value.kind == JsonValue::Kind::kObject) {
      const std::string inner = value.members.empty() ? "NAME" : value.members.front().first;
      return Wrong(absl::StrCat("the stop criterion ", Quote(name),
                                " is an object: write its path, ",
                                Quote(absl::StrCat(name, "/", inner))));
    }
    if (name.empty() || !IsFinite(value)) {
      return Wrong(
          absl::StrCat("the stop criterion ", Quote(name), " needs a name and a finite number"));
    }
    bounds.emplace_back(name, value.number);
  }
  return bounds;
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
      if (value.kind == JsonValue::Kind::kString) plateau.metric = StringOf(value);
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
      if (!is_null) mode = StringOf(value);
      if (!is_null && mode != "min" && mode != "max") needs = "\"min\" or \"max\"";
    } else {
      return Wrong(absl::StrCat("plateau has no option ", Quote(name),
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
  window.push_back(metric != nullptr && metric->number ? *metric->number
                                                       : std::numeric_limits<double>::quiet_NaN());
  while (window.size() > plateau_->num_results) window.pop_front();
}

absl::StatusOr<std::optional<std::string>> StopCriteria::Judge(const Report& report) const {
  for (const std::string& name : required_) {
    if (report.says_only_done) break;
    if (Find(report.result, name) == nullptr) {
      return Lacks("the required metric", name, report.result);
    }
  }
  if (report.done) return std::nullopt;
  for (const auto& [name, bound] : bounds_) {
    const Metric* const metric = Find(report.result, name);
    if (metric == nullptr) return Lacks("the stop criterion", name, report.result);
    if (!metric->number) {
      return absl::FailedPreconditionError(
          absl::StrCat("the stop criterion ", Quote(name), " is no number in the report"));
    }
    if (*metric->number >= bound) {
      return absl::StrCat(name, " has reached ", ShortNumber(bound));
    }
  }
  return JudgePlateau(report);
}

std::optional<std::string> StopCriteria::JudgePlateau(const Report& report) const {
  if (!plateau_ || report.number < plateau_->grace_period) return std::nullopt;
  if (report.window.size() < plateau_->num_results) return std::nullopt;
  const double last = report.window.back();
  if (plateau_->threshold) {
    const bool beyond =
        plateau_->smaller_is_better ? last <= *plateau_->threshold : last >= *plateau_->threshold;
    if (!beyond) return std::nullopt;
  }
  // False for NaN.
  if (!(DeviationOf(report.window) < plateau_->std)) return std::nullopt;
  return absl::StrCat(plateau_->metric,
                      " has reached a plateau: the standard deviation of its last ",
                      plateau_->num_results, " values is under ", ShortNumber(plateau_->std));
}

}  // namespace trainer
