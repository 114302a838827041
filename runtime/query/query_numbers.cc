#include "runtime/query/query_numbers.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <system_error>

#include "absl/strings/match.h"
#include "runtime/text/string_view.h"

namespace runtime {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr Unit kAges[] = {{"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}};
constexpr Unit kSizes[] = {{"b", 1},       {"kb", 1e3},     {"mb", 1e6},     {"gb", 1e9},
                           {"tb", 1e12},   {"k", 0x1p10},   {"m", 0x1p20},   {"g", 0x1p30},
                           {"t", 0x1p40},  {"kib", 0x1p10}, {"mib", 0x1p20}, {"gib", 0x1p30},
                           {"tib", 0x1p40}};

// Parses the number at the start of `text` and removes it.
std::optional<double> TakeNumber(std::string_view* text, std::chars_format format) {
  double number = 0;
  const char* const end = text->data() + text->size();
  const auto [rest, error] = std::from_chars(text->data(), end, number, format);
  if (error != std::errc()) return std::nullopt;
  text->remove_prefix(static_cast<std::size_t>(rest - text->data()));
  return number;
}

// Parses a non-negative number; rejects words such as "inf".
std::optional<double> TakeAmount(std::string_view* text) {
  if (text->empty() || !(text->front() == '.' || (text->front() >= '0' && text->front() <= '9'))) {
    return std::nullopt;
  }
  return TakeNumber(text, std::chars_format::fixed);
}

}  // namespace

std::optional<double> ParseNumber(std::string_view text) {
  // from_chars accepts "nan(...)".
  if (text.find('(') != std::string_view::npos) return std::nullopt;
  const auto number = TakeNumber(&text, std::chars_format::general);
  return text.empty() ? number : std::nullopt;
}

std::optional<double> ParseAge(std::string_view text) {
  double sum = 0;
  for (bool first = true; first || !text.empty(); first = false) {
    const auto amount = TakeAmount(&text);
    if (!amount.has_value()) return std::nullopt;
    if (first && text.empty()) return amount;
    // "ms" precedes "m" in the table.
    const auto unit = std::find_if(std::begin(kAges), std::end(kAges), [&](const Unit& one) {
      return text.substr(0, one.name.size()) == one.name;
    });
    if (unit == std::end(kAges)) return std::nullopt;
    text.remove_prefix(unit->name.size());
    sum += *amount * unit->factor;
  }
  return sum;
}

std::optional<double> ParseBytes(std::string_view text) {
  const auto amount = TakeAmount(&text);
  if (!amount.has_value() || text.empty()) return amount;
  for (const Unit& unit : kSizes) {
    if (absl::EqualsIgnoreCase(Absl(text), Absl(unit.name))) {
      return *amount * unit.factor;
    }
  }
  return std::nullopt;
}

}  // namespace runtime
