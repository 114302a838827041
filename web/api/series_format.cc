#include "web/api/series_format.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace web {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::size_t kAlignment = 8;
constexpr std::size_t kHead = 8;  // "YSR1" and the length of the text.

// NaN is the same as NaN.
bool AllSame(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); });
}

bool FitFloats(const std::vector<double>& values) {
  // (Without a branch, so that several are looked at together.)
  bool fit = true;
  for (const double value : values) {
    fit &= (static_cast<double>(static_cast<float>(value)) == value) | (value != value);
  }
  return fit;
}

std::size_t Aligned(std::size_t size) { return (size + kAlignment - 1) / kAlignment * kAlignment; }

enum class Type { kDoubles, kFloats, kSteps, kDistances, kCounts };

std::string_view NameOf(Type type) {
  switch (type) {
    case Type::kDoubles:
      return "f64";
    case Type::kFloats:
      return "f32";
    case Type::kSteps:
      return "i64";
    default:
      return "u32";
  }
}

std::size_t WidthOf(Type type) { return type == Type::kDoubles || type == Type::kSteps ? 8 : 4; }

// An array of the answer: views of its values, which must live until the answer is written.
struct Array {
  Type type;
  const char* source;
  std::size_t source_bytes;
  std::size_t count;
  std::size_t at;  // Behind the text.

  std::size_t bytes() const { return count * WidthOf(type); }
};

std::uint64_t HashOf(Type type, const char* bytes, std::size_t count) {
  std::uint64_t hash = 0x9E3779B97F4A7C15u ^ static_cast<std::uint64_t>(type) ^ count << 8;
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    std::uint64_t word;
    memcpy(&word, bytes + i, sizeof word);
    hash = std::rotl((hash ^ word) * 0xD6E8FEB86659FD93u, 29);
  }
  for (; i < count; ++i) hash = (hash ^ static_cast<unsigned char>(bytes[i])) * 0x100000001B3u;
  return hash;
}

template <typename To, typename From>
void AppendConverted(const Array& array, From base, std::string& body) {
  const std::size_t begin = body.size();
  body.resize(begin + array.bytes());
  char* out = body.data() + begin;
  for (std::size_t i = 0; i < array.count; ++i) {
    From from;
    memcpy(&from, array.source + i * sizeof from, sizeof from);
    const To to = static_cast<To>(from - base);
    memcpy(out + i * sizeof to, &to, sizeof to);
  }
}

class Answer {
 public:
  void Describe(const SeriesColumns& series) {
    text_ += text_.empty() ? "{\"series\":[{" : ",{";
    AddText("run", series.run);
    AddText("tag", series.tag);
    absl::StrAppend(&text_, "\"points\":", series.points,
                    ",\"columns\":", series.first_steps.size(),
                    ",\"generation\":", series.generation, ",");
    AddFlag("incomplete", series.incomplete);
    AddSteps("first_step", series.first_steps);
    if (series.last_steps != series.first_steps) AddSteps("last_step", series.last_steps);
    AddNumbers("time", series.times);
    if (!AllSame(series.mins, series.lasts)) AddNumbers("min", series.mins);
    if (!AllSame(series.maxs, series.lasts)) AddNumbers("max", series.maxs);
    AddNumbers("last", series.lasts);
    if (std::any_of(series.nans.begin(), series.nans.end(), [](auto count) { return count > 0; })) {
      AddArray("nan", Type::kCounts, series.nans);
    }
    AddNumbers("smooth", series.smooths);
    AddNumbers("x", series.xs);
    text_.back() = '}';
  }

  std::string Finish() {
    text_ += text_.empty() ? "{\"series\":[]}" : "]}";
    text_.resize(Aligned(text_.size()), ' ');  // Spaces at the end of JSON have no meaning.
    for (const auto& [place, array] : places_) {
      const std::string digits = absl::StrCat(kHead + text_.size() + arrays_[array].at);
      text_.replace(place + kDigits - digits.size(), digits.size(), digits);
    }
    std::string body;
    body.reserve(kHead + text_.size() + size_);
    body += "YSR1";
    const auto length = static_cast<std::uint32_t>(text_.size());
    body.append(reinterpret_cast<const char*>(&length), sizeof length);
    body += text_;
    for (const Array& array : arrays_) Append(array, body);
    return body;
  }

 private:
  static constexpr std::size_t kDigits = 12;  // Room for a place, which is known at the end.

  void AddText(std::string_view name, const std::string& value) {
    text_.append("\"").append(name).append("\":");
    text_ += nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    text_ += ",";
  }

  void AddFlag(std::string_view name, bool value) {
    text_.append("\"").append(name).append(value ? "\":true," : "\":false,");
  }

  template <typename T>
  void AddArray(std::string_view name, Type type, const std::vector<T>& values) {
    text_.append("\"").append(name).append("\":{\"type\":\"").append(NameOf(type));
    text_ += "\",\"at\":";
    places_.emplace_back(text_.size(), Place(type, values));
    text_.append(kDigits, ' ');
    if (type == Type::kDistances) absl::StrAppend(&text_, ",\"base\":\"", values.front(), "\"");
    text_ += "},";
  }

  void AddNumbers(std::string_view name, const std::vector<double>& values) {
    if (values.empty()) return;
    AddArray(name, FitFloats(values) ? Type::kFloats : Type::kDoubles, values);
  }

  // In no falling order.
  void AddSteps(std::string_view name, const std::vector<std::int64_t>& steps) {
    if (steps.empty()) return;
    const std::uint64_t span =
        static_cast<std::uint64_t>(steps.back()) - static_cast<std::uint64_t>(steps.front());
    const bool is_narrow = span <= std::numeric_limits<std::uint32_t>::max();
    AddArray(name, is_narrow ? Type::kDistances : Type::kSteps, steps);
  }

  // Returns the place of the array with these values, which may have been added already.
  template <typename T>
  std::size_t Place(Type type, const std::vector<T>& values) {
    const auto* const source = reinterpret_cast<const char*>(values.data());
    const std::size_t bytes = values.size() * sizeof(T);
    const auto [found, is_new] = by_hash_.try_emplace(HashOf(type, source, bytes), arrays_.size());
    if (!is_new) {
      const Array& other = arrays_[found->second];
      if (other.type == type && other.source_bytes == bytes &&
          memcmp(other.source, source, bytes) == 0) {
        return found->second;
      }
    }
    arrays_.push_back({type, source, bytes, values.size(), size_});
    size_ += Aligned(arrays_.back().bytes());
    return arrays_.size() - 1;
  }

  static void Append(const Array& array, std::string& body) {
    if (array.type == Type::kFloats) {
      AppendConverted<float, double>(array, 0, body);
    } else if (array.type == Type::kDistances) {
      std::uint64_t base;
      memcpy(&base, array.source, sizeof base);
      AppendConverted<std::uint32_t, std::uint64_t>(array, base, body);
    } else {
      body.append(array.source, array.source_bytes);
    }
    body.resize(Aligned(body.size()));
  }

  std::string text_;
  std::vector<std::pair<std::size_t, std::size_t>> places_;  // In the text, and whose.
  std::vector<Array> arrays_;
  std::unordered_map<std::uint64_t, std::size_t> by_hash_;
  std::size_t size_ = 0;
};

}  // namespace

std::string EncodeSeries(std::span<const SeriesColumns> series) {
  Answer answer;
  for (const SeriesColumns& one : series) answer.Describe(one);
  return answer.Finish();
}

}  // namespace web
