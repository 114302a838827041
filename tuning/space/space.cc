// A number has three scales: the value itself; its scale in its distribution (for example its
// logarithm), on which integers and steps extend half a step beyond both bounds, so that the first
// and the last are as likely as the others; and its quantile in [0, 1].

#include "tuning/space/space.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace tuning {
namespace {

constexpr double kMaxCount = 1e15;  // Beyond this, neighbouring doubles are no longer integers.

bool IsLog(Distribution distribution) {
  return distribution == Distribution::kLogUniform ||
         distribution == Distribution::kInverseLogUniform ||
         distribution == Distribution::kLogNormal;
}

bool IsNormal(Distribution distribution) {
  return distribution == Distribution::kNormal || distribution == Distribution::kLogNormal;
}

// Returns the distance between two values; 0 if any value is allowed.
double StepOf(const Parameter& parameter) {
  if (parameter.step > 0) return parameter.step;
  return parameter.kind == Kind::kInt ? 1 : 0;
}

// Returns the largest value that is a whole number of steps above the smallest.
double LastOf(const Parameter& parameter) {
  const double step = StepOf(parameter);
  if (step == 0) return parameter.high;
  // (0.1 * 3 is slightly more than 0.3, which is a step nevertheless.)
  return parameter.low + step * std::floor((parameter.high - parameter.low) / step * (1 + 1e-12));
}

double Scale(const Parameter& parameter, double value) {
  return IsLog(parameter.distribution) ? std::log(value) : value;
}

struct Interval {
  double low, high;
};

// Returns the interval on the scale. Half a step below the smallest value of a logarithm might be
// negative; then half of the smallest value is used.
Interval ScaleOf(const Parameter& parameter) {
  const double half = StepOf(parameter) / 2;
  const double last = LastOf(parameter);
  double first = parameter.low - half;
  if (IsLog(parameter.distribution) && first <= 0) first = parameter.low / 2;
  return {Scale(parameter, first), Scale(parameter, last + half)};
}

double Snap(const Parameter& parameter, double value) {
  const double step = StepOf(parameter);
  if (IsNormal(parameter.distribution)) {
    return step == 0 ? value : step * std::round(value / step);
  }
  if (step > 0) value = parameter.low + step * std::round((value - parameter.low) / step);
  return std::clamp(value, parameter.low, LastOf(parameter));
}

// Returns the quantile of a number, which may be out of bounds.
double Quantile(const Parameter& parameter, double value) {
  // (For a logarithm, replaces values that are not positive by the smallest positive one.)
  if (IsLog(parameter.distribution)) value = std::max(value, std::numeric_limits<double>::min());
  const double scale = Scale(parameter, value);
  if (IsNormal(parameter.distribution)) {
    return NormalCdf((scale - parameter.mean) / parameter.deviation);
  }
  const Interval interval = ScaleOf(parameter);
  const double unit = std::clamp((scale - interval.low) / (interval.high - interval.low), 0.0, 1.0);
  return parameter.distribution == Distribution::kInverseLogUniform ? 1 - unit : unit;
}

double CategoryAt(const Parameter& parameter, double unit) {
  const double count = static_cast<double>(parameter.values.size());
  if (parameter.probabilities.empty()) return std::min(std::floor(unit * count), count - 1);
  const double sum =
      std::accumulate(parameter.probabilities.begin(), parameter.probabilities.end(), 0.0);
  double rest = unit * sum;
  for (std::size_t i = 0; i < parameter.probabilities.size(); ++i) {
    rest -= parameter.probabilities[i];
    if (rest < 0) return static_cast<double>(i);
  }
  // (Reached by rounding: returns the last value with a positive probability.)
  std::size_t last = parameter.probabilities.size() - 1;
  while (last > 0 && parameter.probabilities[last] == 0) --last;
  return static_cast<double>(last);
}

std::string NumberText(double value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value);
  return std::string(text, end.ptr);
}

std::optional<double> ParseNumber(std::string_view text) {
  double value = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end.ec != std::errc() || end.ptr != text.data() + text.size()) return std::nullopt;
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

absl::Status Wrong(const Parameter& parameter, std::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("parameter ", parameter.name, ": ", std::string(what)));
}

absl::Status CheckCategory(const Parameter& parameter) {
  if (parameter.values.empty()) return Wrong(parameter, "has no values");
  const std::set<std::string> distinct(parameter.values.begin(), parameter.values.end());
  if (distinct.size() != parameter.values.size()) return Wrong(parameter, "has a value twice");
  if (parameter.probabilities.empty()) return absl::OkStatus();
  if (parameter.probabilities.size() != parameter.values.size()) {
    return Wrong(parameter,
                 absl::StrCat("has ", parameter.probabilities.size(), " probabilities for ",
                              parameter.values.size(), " values"));
  }
  double sum = 0;
  for (const double probability : parameter.probabilities) {
    if (!(probability >= 0) || std::isinf(probability)) {
      return Wrong(parameter, "has a probability that is negative or no number");
    }
    sum += probability;
  }
  return sum > 0 ? absl::OkStatus() : Wrong(parameter, "has probabilities that are all 0");
}

absl::Status CheckNumber(const Parameter& parameter) {
  if (!(parameter.step >= 0) || std::isinf(parameter.step)) {
    return Wrong(parameter, "has a step that is negative or no number");
  }
  if (IsNormal(parameter.distribution)) {
    if (!std::isfinite(parameter.mean) || !(parameter.deviation > 0) ||
        std::isinf(parameter.deviation)) {
      return Wrong(parameter, "has a mean that is no number, or a deviation that is not above 0");
    }
    return absl::OkStatus();
  }
  if (!std::isfinite(parameter.low) || !std::isfinite(parameter.high)) {
    return Wrong(parameter, "has a bound that is no number");
  }
  if (!(parameter.low < parameter.high) || std::isinf(parameter.high - parameter.low)) {
    return Wrong(parameter, absl::StrCat("has a least value of ", NumberText(parameter.low),
                                         " and a largest of ", NumberText(parameter.high)));
  }
  if (IsLog(parameter.distribution) && parameter.low <= 0) {
    return Wrong(parameter,
                 absl::StrCat("has a logarithm, and a least value of ", NumberText(parameter.low)));
  }
  if (parameter.kind == Kind::kInt &&
      (parameter.low != std::round(parameter.low) || parameter.high != std::round(parameter.high) ||
       parameter.step != std::round(parameter.step))) {
    return Wrong(parameter, "is whole, and has a bound or step that is not");
  }
  const double step = StepOf(parameter);
  if (step > 0 && (parameter.high - parameter.low) / step > kMaxCount) {
    return Wrong(parameter, "has more values than a double can tell apart");
  }
  return absl::OkStatus();
}

absl::Status Check(const Parameter& parameter) {
  if (parameter.name.empty()) return absl::InvalidArgumentError("a parameter has no name");
  return parameter.kind == Kind::kCategory ? CheckCategory(parameter) : CheckNumber(parameter);
}

}  // namespace

double NormalCdf(double x) { return 0.5 * std::erfc(-x * M_SQRT1_2); }

// Wichura's algorithm AS 241 (1988), PPND16: relative error about 1e-16.
double NormalQuantile(double p) {
  const double q = p - 0.5;
  if (std::abs(q) <= 0.425) {
    const double r = 0.180625 - q * q;
    return q *
           (((((((r * 2509.0809287301226727 + 33430.575583588128105) * r + 67265.770927008700853) *
                    r +
                45921.953931549871457) *
                   r +
               13731.693765509461125) *
                  r +
              1971.5909503065514427) *
                 r +
             133.14166789178437745) *
                r +
            3.387132872796366608) /
           (((((((r * 5226.495278852545925 + 28729.085735721942674) * r + 39307.89580009271061) *
                    r +
                21213.794301586595867) *
                   r +
               5394.1960214247511077) *
                  r +
              687.1870074920579083) *
                 r +
             42.313330701600911252) *
                r +
            1);
  }
  double r = std::sqrt(-std::log(std::max(q < 0 ? p : 1 - p, std::numeric_limits<double>::min())));
  double value;
  if (r <= 5) {
    r -= 1.6;
    value = (((((((r * 7.7454501427834140764e-4 + 0.0227238449892691845833) * r +
                  0.24178072517745061177) *
                     r +
                 1.27045825245236838258) *
                    r +
                3.64784832476320460504) *
                   r +
               5.7694972214606914055) *
                  r +
              4.6303378461565452959) *
                 r +
             1.42343711074968357734) /
            (((((((r * 1.05075007164441684324e-9 + 5.475938084995344946e-4) * r +
                  0.0151986665636164571966) *
                     r +
                 0.14810397642748007459) *
                    r +
                0.68976733498510000455) *
                   r +
               1.6763848301838038494) *
                  r +
              2.05319162663775882187) *
                 r +
             1);
  } else {
    r -= 5;
    value = (((((((r * 2.01033439929228813265e-7 + 2.71155556874348757815e-5) * r +
                  0.0012426609473880784386) *
                     r +
                 0.026532189526576123093) *
                    r +
                0.29656057182850489123) *
                   r +
               1.7848265399172913358) *
                  r +
              5.4637849111641143699) *
                 r +
             6.6579046435011037772) /
            (((((((r * 2.04426310338993978564e-15 + 1.4215117583164458887e-7) * r +
                  1.8463183175100546818e-5) *
                     r +
                 7.868691311456132591e-4) *
                    r +
                0.0148753612908506148525) *
                   r +
               0.13692988092273580531) *
                  r +
              0.59983220655588793769) *
                 r +
             1);
  }
  return q < 0 ? -value : value;
}

std::optional<std::size_t> Parameter::Count() const {
  if (kind == Kind::kCategory) return values.size();
  const double between = StepOf(*this);
  if (between == 0 || IsNormal(distribution)) return std::nullopt;
  return static_cast<std::size_t>(std::llround((LastOf(*this) - low) / between)) + 1;
}

double Parameter::FromUnit(double unit) const {
  unit = std::clamp(unit, 0.0, 1.0);
  if (kind == Kind::kCategory) return CategoryAt(*this, unit);
  double scale;
  if (IsNormal(distribution)) {
    // Avoids quantiles of 0 and 1, which would be infinite.
    scale = mean + deviation * NormalQuantile(std::clamp(unit, 0x1.0p-54, 1 - 0x1.0p-53));
  } else {
    const Interval interval = ScaleOf(*this);
    if (distribution == Distribution::kInverseLogUniform) unit = 1 - unit;
    scale = interval.low + unit * (interval.high - interval.low);
  }
  return Snap(*this, IsLog(distribution) ? std::exp(scale) : scale);
}

double Parameter::ToUnit(double value) const {
  if (kind == Kind::kCategory) return value;
  return Quantile(*this, value);
}

std::pair<double, double> Parameter::UnitCell(double value) const {
  const double half = StepOf(*this) / 2;
  const double one = Quantile(*this, value - half), other = Quantile(*this, value + half);
  return {std::min(one, other), std::max(one, other)};
}

std::string Parameter::Text(double value) const {
  if (kind == Kind::kCategory) return values[static_cast<std::size_t>(value)];
  if (kind == Kind::kInt) return absl::StrCat(static_cast<long long>(value));
  std::string text = NumberText(value);
  // Marks the number as a non-integer for readers.
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

absl::StatusOr<double> Parameter::Parse(std::string_view text) const {
  if (kind == Kind::kCategory) {
    const auto found = std::find(values.begin(), values.end(), text);
    if (found != values.end()) return static_cast<double>(found - values.begin());
    return Wrong(*this, absl::StrCat("has no value ", std::string(text)));
  }
  const auto number = ParseNumber(text);
  if (!number) return Wrong(*this, absl::StrCat(std::string(text), " is no number"));
  if (IsNormal(distribution)) return *number;
  if (!(*number >= low && *number <= high)) {
    return Wrong(*this, absl::StrCat(std::string(text), " is not from ", NumberText(low), " to ",
                                     NumberText(high)));
  }
  const double between = StepOf(*this);
  if (between > 0 && std::abs(Snap(*this, *number) - *number) > 1e-9 * between) {
    return Wrong(*this, absl::StrCat(std::string(text), " is no whole number of steps of ",
                                     NumberText(between), " from ", NumberText(low)));
  }
  return Snap(*this, *number);
}

absl::StatusOr<Space> Space::Create(std::vector<Parameter> parameters) {
  std::set<std::string> names;
  for (const Parameter& parameter : parameters) {
    if (auto checked = Check(parameter); !checked.ok()) return checked;
    if (!names.insert(parameter.name).second) return Wrong(parameter, "is there twice");
  }
  Space space(std::move(parameters));
  if (auto added = space.AddGates(); !added.ok()) return added;
  space.AddGroups();
  return space;
}

absl::Status Space::AddGates() {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Parameter& parameter = parameters_[i];
    gates_.emplace_back();
    if (!parameter.when) continue;
    const auto other = Find(parameter.when->parameter);
    if (!other || *other >= i) {
      return Wrong(parameter, absl::StrCat("depends on ", parameter.when->parameter, ", which is ",
                                           other ? "not before it" : "no parameter"));
    }
    Gate gate = {.parameter = *other};
    for (const std::string& text : parameter.when->values) {
      auto value = parameters_[*other].Parse(text);
      if (!value.ok()) return Wrong(parameter, std::string(value.status().message()));
      gate.values.push_back(*value);
    }
    if (gate.values.empty()) {
      return Wrong(parameter, absl::StrCat("depends on no value of ", parameter.when->parameter));
    }
    std::sort(gate.values.begin(), gate.values.end());
    gates_.back() = std::move(gate);
  }
  return absl::OkStatus();
}

// Groups the parameters without a condition, and then those with equal conditions. (A condition on
// a conditional parameter holds at most as often as that parameter's own.)
void Space::AddGroups() {
  for (std::size_t i = 0; i < size(); ++i) {
    const auto same = std::find_if(groups_.begin(), groups_.end(), [&](const auto& group) {
      const auto &a = gates_[group.front()], &b = gates_[i];
      if (!a || !b) return !a && !b;
      return a->parameter == b->parameter && a->values == b->values;
    });
    if (same != groups_.end()) {
      same->push_back(i);
    } else {
      groups_.push_back({i});
    }
  }
  // In the list a parameter without a condition may follow one that depends on it, but the group of
  // unconditional parameters comes first.
  std::stable_partition(groups_.begin(), groups_.end(),
                        [&](const auto& group) { return !gates_[group.front()]; });
}

std::optional<std::size_t> Space::Find(std::string_view name) const {
  for (std::size_t i = 0; i < size(); ++i) {
    if (parameters_[i].name == name) return i;
  }
  return std::nullopt;
}

bool Space::IsActive(std::size_t i, const Point& point) const {
  const auto& gate = gates_[i];
  return !gate || std::find(gate->values.begin(), gate->values.end(), point[gate->parameter]) !=
                      gate->values.end();
}

void Space::Deactivate(Point& point) const {
  for (std::size_t i = 0; i < size(); ++i) {
    if (!IsActive(i, point)) point[i] = std::numeric_limits<double>::quiet_NaN();
  }
}

std::optional<std::vector<Point>> Space::All(std::size_t limit) const {
  std::vector<Point> points = {Point()};
  for (std::size_t i = 0; i < size(); ++i) {
    const auto count = parameters_[i].Count();
    std::vector<Point> longer;
    for (const Point& point : points) {
      if (!IsActive(i, point)) {
        longer.push_back(point);
        longer.back().push_back(std::numeric_limits<double>::quiet_NaN());
        continue;
      }
      if (!count || longer.size() + *count > limit) return std::nullopt;
      for (std::size_t k = 0; k < *count; ++k) {
        longer.push_back(point);
        longer.back().push_back(
            parameters_[i].kind == Kind::kCategory
                ? static_cast<double>(k)
                : Snap(parameters_[i],
                       parameters_[i].low + static_cast<double>(k) * StepOf(parameters_[i])));
      }
    }
    points = std::move(longer);
  }
  if (points.size() > limit) return std::nullopt;
  return points;
}

}  // namespace tuning
