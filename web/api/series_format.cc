#include "web/api/series_format.h"

#include <bit>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "bus/wire/packed_numbers.h"
#include "nlohmann/json.hpp"

namespace web {
namespace {

constexpr std::size_t kAlignment = 8;
constexpr std::size_t kHead = 8;     // "YSR1" and the length of the JSON text.
constexpr std::size_t kDigits = 12;  // Space for an offset, which is known at the end.

std::size_t Aligned(std::size_t size) { return (size + kAlignment - 1) / kAlignment * kAlignment; }

std::string_view NameOf(msg::NumberType type) {
  switch (type) {
    case msg::NumberType::Float64:
      return "f64";
    case msg::NumberType::Float32:
      return "f32";
    case msg::NumberType::Int64:
      return "i64";
    case msg::NumberType::Uint32Above:
    case msg::NumberType::Uint32:
      return "u32";
  }
  return "";
}

std::uint64_t HashOf(const std::vector<std::uint8_t>& data) {
  std::uint64_t hash = 0x9E3779B97F4A7C15u ^ data.size();
  std::size_t i = 0;
  for (; i + 8 <= data.size(); i += 8) {
    std::uint64_t word;
    memcpy(&word, data.data() + i, sizeof word);
    hash = std::rotl((hash ^ word) * 0xD6E8FEB86659FD93u, 29);
  }
  for (; i < data.size(); ++i) hash = (hash ^ data[i]) * 0x100000001B3u;
  return hash;
}

// Returns true if each list that exists has one number for each column.
bool AreWhole(const msg::PackedColumnsT& columns) {
  const auto fits = [&columns](const std::unique_ptr<msg::PackedNumbersT>& numbers) {
    if (numbers == nullptr) return true;
    const std::size_t width = bus::WidthOf(numbers->type);
    return width > 0 && numbers->data.size() == width * columns.columns;
  };
  return columns.first_steps != nullptr && columns.wall_times != nullptr &&
         columns.lasts != nullptr && fits(columns.first_steps) && fits(columns.last_steps) &&
         fits(columns.wall_times) && fits(columns.mins) && fits(columns.maxs) &&
         fits(columns.lasts) && fits(columns.not_finite);
}

}  // namespace

bool SeriesEncoder::Add(const SeriesColumns& series) {
  if (series.columns == nullptr || !AreWhole(*series.columns)) return false;
  const msg::PackedColumnsT& columns = *series.columns;
  text_ += text_.empty() ? "{\"series\":[{" : ",{";
  AddText("run", series.run);
  AddText("tag", series.tag);
  absl::StrAppend(&text_, "\"points\":", series.points, ",\"columns\":", columns.columns,
                  ",\"generation\":", series.generation,
                  ",\"incomplete\":", series.incomplete ? "true" : "false");
  const std::pair<std::string_view, const msg::PackedNumbersT*> lists[] = {
      {"first_step", columns.first_steps.get()},
      {"last_step", columns.last_steps.get()},
      {"time", columns.wall_times.get()},
      {"min", columns.mins.get()},
      {"max", columns.maxs.get()},
      {"last", columns.lasts.get()},
      {"nan", columns.not_finite.get()}};
  for (const auto& [name, numbers] : lists) {
    if (columns.columns > 0 && numbers != nullptr) AddArray(name, *numbers);
  }
  AddNumbers("smooth", series.smooths);
  AddNumbers("x", series.xs);
  text_ += '}';
  return true;
}

std::string SeriesEncoder::Finish() {
  text_ += text_.empty() ? "{\"series\":[]}" : "]}";
  text_.resize(Aligned(text_.size()), ' ');  // Trailing spaces are insignificant in JSON.
  for (const auto& [place, array] : places_) {
    const std::string digits = absl::StrCat(kHead + text_.size() + array);
    text_.replace(place + kDigits - digits.size(), digits.size(), digits);
  }
  std::string body;
  body.reserve(kHead + text_.size() + arrays_.size());
  body += "YSR1";
  const auto length = static_cast<std::uint32_t>(text_.size());
  body.append(reinterpret_cast<const char*>(&length), sizeof length);
  body += text_;
  body += arrays_;
  return body;
}

void SeriesEncoder::AddText(std::string_view name, const std::string& value) {
  text_.append("\"").append(name).append("\":");
  text_ += nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  text_ += ",";
}

void SeriesEncoder::AddArray(std::string_view name, const msg::PackedNumbersT& numbers) {
  text_.append(",\"").append(name).append("\":{\"type\":\"").append(NameOf(numbers.type));
  text_ += "\",\"at\":";
  places_.emplace_back(text_.size(), Place(numbers.data));
  text_.append(kDigits, ' ');
  if (numbers.type == msg::NumberType::Uint32Above) {
    absl::StrAppend(&text_, ",\"base\":\"", numbers.base, "\"");
  }
  text_ += '}';
}

void SeriesEncoder::AddNumbers(std::string_view name, std::span<const double> numbers) {
  if (!numbers.empty()) AddArray(name, *bus::PackNumbers(numbers));
}

std::size_t SeriesEncoder::Place(const std::vector<std::uint8_t>& data) {
  const auto [found, is_new] = by_hash_.try_emplace(HashOf(data), arrays_.size(), data.size());
  const auto& [at, size] = found->second;
  if (!is_new && size == data.size() && memcmp(arrays_.data() + at, data.data(), size) == 0) {
    return at;
  }
  const std::size_t place = arrays_.size();
  arrays_.append(reinterpret_cast<const char*>(data.data()), data.size());
  arrays_.resize(Aligned(arrays_.size()));
  return place;
}

}  // namespace web
