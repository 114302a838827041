#include "tuning/analysis/observed_space.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <string>
#include <system_error>
#include <utility>

namespace tuning {
namespace {

// A choice of more values is meaningless and slow.
constexpr std::size_t kMostChoices = 1'000;
// Numbers with a smaller ratio of largest to smallest count as uniform.
constexpr double kLeastRatioOfLog = 10;

// One parameter: the configurations that have it, and its values in them.
struct Column {
  std::vector<std::size_t> rows = {};
  std::vector<std::string> texts = {};
};

std::optional<double> NumberOf(const std::string& text) {
  double value = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end.ec != std::errc() || end.ptr != text.data() + text.size()) return std::nullopt;
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

// Returns the numbers; empty if not all values are numbers.
std::vector<double> NumbersOf(const Column& column) {
  std::vector<double> numbers;
  for (const std::string& text : column.texts) {
    const auto number = NumberOf(text);
    if (!number) return {};
    numbers.push_back(*number);
  }
  return numbers;
}

// Returns true if the median is nearer to the middle of the logarithms than to that of the values.
bool IsLog(std::vector<double> numbers, double low, double high) {
  if (!(low > 0) || high / low < kLeastRatioOfLog) return false;
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  const double of_values = (*middle - low) / (high - low);
  const double of_logs = std::log(*middle / low) / std::log(high / low);
  return std::abs(of_logs - 0.5) < std::abs(of_values - 0.5);
}

// Returns nullopt if the parameter is omitted. `values` receives one value for each row of
// `column`.
std::optional<Parameter> ParameterOf(const std::string& name, const Column& column,
                                     std::vector<double>& values) {
  Parameter parameter = {.name = name};
  values = NumbersOf(column);
  if (!values.empty()) {
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    if (*low == *high || !std::isfinite(*high - *low)) return std::nullopt;
    parameter.low = *low;
    parameter.high = *high;
    constexpr double kMostCounted = 1e15;  // Up to here doubles represent integers.
    const bool is_int = std::all_of(values.begin(), values.end(), [](double value) {
      return value == std::floor(value) && std::abs(value) < kMostCounted;
    });
    if (is_int) parameter.kind = Kind::kInt;
    if (IsLog(values, *low, *high)) parameter.distribution = Distribution::kLogUniform;
    return parameter;
  }
  std::map<std::string, std::size_t> places;
  for (const std::string& text : column.texts) {
    const auto [place, is_new] = places.emplace(text, places.size());
    if (is_new) parameter.values.push_back(text);
    values.push_back(static_cast<double>(place->second));
  }
  const std::size_t kinds = places.size();
  if (kinds < 2 || kinds > kMostChoices || 2 * kinds > column.texts.size()) return std::nullopt;
  parameter.kind = Kind::kCategory;
  return parameter;
}

}  // namespace

ObservedSpace SpaceOf(std::span<const Config> configs) {
  std::map<std::string, Column> columns;
  for (std::size_t row = 0; row < configs.size(); ++row) {
    for (const auto& [name, text] : configs[row]) {
      Column& column = columns[name];
      if (!column.rows.empty() && column.rows.back() == row) continue;
      column.rows.push_back(row);
      column.texts.push_back(text);
    }
  }
  ObservedSpace observed;
  observed.points.resize(configs.size());
  std::vector<Parameter> parameters;
  for (const auto& [name, column] : columns) {
    std::vector<double> values;
    auto parameter = ParameterOf(name, column, values);
    if (!parameter) continue;
    // (Space rejects invalid parameters, such as one with an empty name.)
    if (!Space::Create({*parameter}).ok()) continue;
    for (Point& point : observed.points) point.push_back(std::numeric_limits<double>::quiet_NaN());
    for (std::size_t i = 0; i < values.size(); ++i) {
      observed.points[column.rows[i]].back() = values[i];
    }
    parameters.push_back(*std::move(parameter));
  }
  if (parameters.empty()) return observed;
  auto space = Space::Create(std::move(parameters));
  if (space.ok()) observed.space = *std::move(space);
  return observed;
}

}  // namespace tuning
