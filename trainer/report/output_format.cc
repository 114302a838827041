#include "trainer/report/output_format.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "runtime/text/json_value.h"
#include "runtime/text/string_view.h"
#include "runtime/text/utf8.h"
#include "trainer/report/printed_number.h"

namespace trainer {
namespace {

constexpr std::string_view kTag = "tag:";
constexpr std::size_t kMaxTag = 100;

std::optional<std::string> ObjectIn(std::string_view text) {
  text = TrimmedSpaces(text);
  if (text.empty() || text.front() != '{') return std::nullopt;
  const auto json = runtime::ParseJson(text);
  if (!json.ok() || json->kind != runtime::JsonValue::Kind::kObject || json->members.empty()) {
    return std::nullopt;
  }
  return runtime::CompactJson(*json);
}

}  // namespace

absl::StatusOr<OutputFormat> OutputFormat::From(std::string_view text) {
  if (text == "json") return OutputFormat({ObjectIn}, false, "");
  if (text == "values") return OutputFormat({AssignedMetrics}, false, "");
  if (text == "keras") return OutputFormat({KerasMetrics}, false, "");
  if (text == "xgboost") return OutputFormat({XgboostMetrics}, false, "");
  if (text == "lightgbm") return OutputFormat({LightgbmMetrics}, false, "");
  if (text == "dict") return OutputFormat({DictionaryMetrics}, false, "");
  if (text == "tqdm") return OutputFormat({}, true, "");
  if (text == "auto") {
    return OutputFormat({ObjectIn, DictionaryMetrics, KerasMetrics, XgboostMetrics, LightgbmMetrics,
                         AssignedMetrics},
                        true, "");
  }
  if (text.substr(0, kTag.size()) == kTag) {
    const std::string_view tag = text.substr(kTag.size());
    bool good = !tag.empty() && tag.size() <= kMaxTag && runtime::ValidUtf8(tag) == tag;
    for (const char c : tag) good = good && static_cast<unsigned char>(c) > ' ' && c != 0x7F;
    if (good) return OutputFormat({ObjectIn, AssignedMetrics}, false, std::string(tag));
    return absl::InvalidArgumentError(
        absl::StrCat("output ", runtime::Quote(text.substr(0, 2 * kMaxTag)),
                     ": the WORD of tag:WORD has 1 to ", kMaxTag, " characters and no space"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("output ", runtime::Quote(text.substr(0, kMaxTag)),
                   " is not auto, json, values, tag:WORD, keras, xgboost, lightgbm, dict or tqdm"));
}

std::optional<std::string> OutputFormat::MetricsIn(std::string_view line) const {
  while (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  if (const std::size_t over = line.rfind('\r'); over != line.npos) line.remove_prefix(over + 1);
  if (!tag_.empty()) {
    line = TrimmedSpaces(line);
    if (line.substr(0, tag_.size()) != tag_) return std::nullopt;
    line.remove_prefix(tag_.size());
    // The tag must not be the start of a longer word.
    if (line.empty() || !IsIn(" \t:{", line.front())) return std::nullopt;
    if (line.front() == ':') line.remove_prefix(1);
  }
  for (const Reader read : readers_) {
    if (auto metrics = read(line)) return metrics;
  }
  return std::nullopt;
}

std::optional<BarState> OutputFormat::BarIn(std::string_view text) const {
  return reads_bars_ ? TqdmState(text) : std::nullopt;
}

}  // namespace trainer
