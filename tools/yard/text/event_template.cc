#include "tools/yard/text/event_template.h"

#include <cstddef>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace yard {
namespace {

constexpr std::size_t kLongestWord = 6;

std::optional<std::string> ValueOf(std::string_view word, const EventValues& values) {
  if (word == "count") return absl::StrCat(values.count);
  if (word == "time") {
    return absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", values.time, absl::UTCTimeZone());
  }
  if (word == "id") return absl::StrCat(absl::Hex(values.random, absl::kZeroPad16));
  if (word == "random") {
    // The bits of the id are mixed, so that the number does not show the id's digits.
    const std::uint64_t mixed = (values.random ^ (values.random >> 31)) * 0x9E3779B97F4A7C15U;
    return absl::StrFormat("%.6f", static_cast<double>(mixed % 1'000'000) / 1e6);
  }
  return std::nullopt;
}

}  // namespace

std::string FillTemplate(std::string_view text, const EventValues& values) {
  std::string filled;
  for (std::size_t begin = 0; (begin = text.find("{{")) != text.npos;) {
    const std::string_view words = text.substr(begin + 2, kLongestWord + 2);
    const std::size_t end = words.find("}}");
    const auto value = end == words.npos ? std::nullopt : ValueOf(words.substr(0, end), values);
    // "{{{count}}" is a brace followed by a placeholder.
    filled.append(text.substr(0, begin + (value.has_value() ? 0 : 1)));
    if (value.has_value()) filled.append(*value);
    text.remove_prefix(begin + (value.has_value() ? end + 4 : 1));
  }
  return filled.append(text);
}

}  // namespace yard
