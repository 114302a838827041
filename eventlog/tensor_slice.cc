#include "eventlog/tensor_slice.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/text/string_view.h"

// Steps are positive, so the elements of a slice ascend in row-major order, and one pass over the
// tensor suffices.

namespace eventlog {
namespace {

using Range = TensorSlice::Range;

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Returns the text before the first separator; `rest` continues after it, and is null at the end.
std::string_view Next(char separator, std::optional<std::string_view>* rest) {
  const std::string_view text = **rest;
  const std::size_t end = text.find(separator);
  if (end == std::string_view::npos) {
    rest->reset();
  } else {
    *rest = text.substr(end + 1);
  }
  return Trimmed(text.substr(0, end));
}

std::optional<std::int64_t> Integer(std::string_view text) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const std::from_chars_result result = std::from_chars(text.data(), end, number);
  return result.ec == std::errc() && result.ptr == end ? std::optional(number) : std::nullopt;
}

absl::Status BadItem(std::string_view item, std::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("slice: \"", runtime::Absl(item), "\" ", runtime::Absl(why)));
}

// Parses one end of a range, clamped to the dimension; returns `otherwise` if it is omitted.
std::optional<std::int64_t> End(std::string_view text, std::int64_t dimension,
                                std::int64_t otherwise) {
  if (text.empty()) return otherwise;
  const auto number = Integer(text);
  if (!number.has_value()) return std::nullopt;
  // (A dimension is at most 2^30, so nothing overflows.)
  const std::int64_t from_start = *number < 0 ? std::max(*number, -dimension) + dimension : *number;
  return std::min(from_start, dimension);
}

absl::StatusOr<Range> ParseRange(std::string_view item, std::int64_t dimension) {
  std::optional<std::string_view> rest = item;
  const auto first = End(Next(':', &rest), dimension, 0);
  const auto end = End(Next(':', &rest), dimension, dimension);
  std::optional<std::int64_t> step = 1;
  if (rest.has_value()) {
    const std::string_view text = Next(':', &rest);
    if (!text.empty()) step = Integer(text);
  }
  if (rest.has_value() || !first || !end || !step) {
    return BadItem(item, "is no range: write FIRST:END or FIRST:END:STEP");
  }
  if (*step < 1) return BadItem(item, "has a step that is not positive");
  Range range;
  range.first = *first;
  range.step = *step;
  const std::int64_t length = std::max<std::int64_t>(*end - *first, 0);
  range.count = length / *step + (length % *step != 0 ? 1 : 0);
  return range;
}

absl::StatusOr<Range> ParseIndex(std::string_view item, std::int64_t dimension) {
  const auto index = Integer(item);
  if (!index.has_value()) return BadItem(item, "is neither an index nor a range");
  if (*index >= dimension || *index < -dimension) {
    return BadItem(item, absl::StrCat("is outside of a dimension of ", dimension));
  }
  return Range{*index < 0 ? *index + dimension : *index, 1, 1};
}

// Splits the text into its items; keeps an ellipsis as an item.
absl::StatusOr<std::vector<std::string_view>> Items(std::string_view text) {
  std::vector<std::string_view> items;
  text = Trimmed(text);
  const bool open = text.starts_with('[');
  const bool closed = text.size() > (open ? 1U : 0U) && text.ends_with(']');
  if (open != closed) return BadItem(text, "has one bracket alone");
  if (open) text = Trimmed(text.substr(1, text.size() - 2));
  if (text.empty()) return items;
  std::optional<std::string_view> rest = text;
  while (rest.has_value()) items.push_back(Next(',', &rest));
  return items;
}

}  // namespace

absl::StatusOr<TensorSlice> ParseTensorSlice(std::string_view text,
                                             const std::vector<std::int64_t>& shape) {
  if (text.size() > kMaxSliceBytes) {
    return absl::InvalidArgumentError("slice: over 4,096 bytes");
  }
  auto items = Items(text);
  if (!items.ok()) return items.status();
  const auto dots = std::count(items->begin(), items->end(), "...");
  if (dots > 1) return BadItem(text, "has ... more than once");
  const std::size_t named = items->size() - static_cast<std::size_t>(dots);
  if (named > shape.size()) {
    return BadItem(text, absl::StrCat("names ", named, " dimensions of ", shape.size()));
  }
  if (dots == 0) items->push_back("...");
  TensorSlice slice;
  slice.size = 1;
  const auto add = [&slice](const Range& range, bool keeps_dimension) {
    slice.ranges.push_back(range);
    if (keeps_dimension) slice.shape.push_back(range.count);
    slice.size *= static_cast<std::uint64_t>(range.count);
  };
  for (const std::string_view item : *items) {
    if (item == "...") {
      for (std::size_t left = shape.size() - named; left > 0; --left) {
        add({0, shape[slice.ranges.size()], 1}, true);
      }
      continue;
    }
    const bool is_range = item.find(':') != std::string_view::npos;
    const std::int64_t dimension = shape[slice.ranges.size()];
    const auto range = is_range ? ParseRange(item, dimension) : ParseIndex(item, dimension);
    if (!range.ok()) return range.status();
    add(*range, is_range);
  }
  return slice;
}

std::vector<std::uint64_t> ElementsOf(const TensorSlice& slice,
                                      const std::vector<std::int64_t>& shape, std::uint64_t limit) {
  const std::uint64_t size = std::min(limit, slice.size);
  std::vector<std::uint64_t> elements;
  if (slice.ranges.size() != shape.size() || size == 0) return elements;
  elements.reserve(size);
  std::vector<std::int64_t> at(shape.size(), 0);  // Index in each range.
  while (elements.size() < size) {
    std::uint64_t element = 0;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      const Range& range = slice.ranges[i];
      element = element * static_cast<std::uint64_t>(shape[i]) +
                static_cast<std::uint64_t>(range.first + at[i] * range.step);
    }
    elements.push_back(element);
    for (std::size_t i = shape.size(); i-- > 0;) {
      if (++at[i] < slice.ranges[i].count) break;
      at[i] = 0;
    }
  }
  return elements;
}

void AppendSlice(const TensorView& tensor, const TensorSlice& slice, std::uint64_t limit,
                 std::vector<double>* out) {
  tensor.AppendNumbersAt(ElementsOf(slice, tensor.shape(), limit), out);
}

}  // namespace eventlog
