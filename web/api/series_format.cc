#include "web/api/series_format.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <map>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace web {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::size_t kAlignment = 8;

using nlohmann::json;

// NaN is the same as NaN.
bool Same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

bool AllSame(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), Same);
}

bool FitsFloat(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double value) {
    return Same(static_cast<double>(static_cast<float>(value)), value);
  });
}

// The arrays behind the text.
class Arrays {
 public:
  template <typename T>
  json Add(const char* type, const std::vector<T>& values) {
    std::string bytes(values.size() * sizeof(T), 0);
    if (!values.empty()) memcpy(bytes.data(), values.data(), bytes.size());
    const auto [place, is_new] = places_.try_emplace(std::move(bytes), size_);
    if (is_new) {
      order_.push_back(&place->first);
      size_ += (place->first.size() + kAlignment - 1) / kAlignment * kAlignment;
    }
    return {{"at", place->second}, {"type", type}};
  }

  json AddNumbers(const std::vector<double>& values) {
    if (values.empty()) return nullptr;
    if (!FitsFloat(values)) return Add("f64", values);
    return Add("f32", std::vector<float>(values.begin(), values.end()));
  }

  // In no falling order.
  json AddSteps(const std::vector<std::int64_t>& steps) {
    if (steps.empty()) return nullptr;
    const auto base = static_cast<std::uint64_t>(steps.front());
    if (static_cast<std::uint64_t>(steps.back()) - base >
        std::numeric_limits<std::uint32_t>::max()) {
      return Add("i64", steps);
    }
    std::vector<std::uint32_t> distances;
    for (const std::int64_t step : steps) {
      distances.push_back(static_cast<std::uint32_t>(static_cast<std::uint64_t>(step) - base));
    }
    json array = Add("u32", distances);
    array["base"] = absl::StrCat(steps.front());
    return array;
  }

  void AppendTo(std::string& body) const {
    for (const std::string* bytes : order_) {
      body += *bytes;
      body.resize((body.size() + kAlignment - 1) / kAlignment * kAlignment);
    }
  }

 private:
  std::map<std::string, std::size_t> places_;  // By content.
  std::vector<const std::string*> order_;
  std::size_t size_ = 0;
};

json Describe(const SeriesColumns& series, Arrays& arrays) {
  json text = {{"run", series.run},
               {"tag", series.tag},
               {"points", series.points},
               {"columns", series.first_steps.size()},
               {"generation", series.generation},
               {"incomplete", series.incomplete},
               {"first_step", arrays.AddSteps(series.first_steps)},
               {"last_step", nullptr},
               {"time", arrays.AddNumbers(series.times)},
               {"min", nullptr},
               {"max", nullptr},
               {"last", arrays.AddNumbers(series.lasts)},
               {"nan", nullptr},
               {"nan_counted", !series.nans.empty() || series.first_steps.empty()},
               {"smooth", arrays.AddNumbers(series.smooths)}};
  if (series.last_steps != series.first_steps) {
    text["last_step"] = arrays.AddSteps(series.last_steps);
  }
  if (!AllSame(series.mins, series.lasts)) text["min"] = arrays.AddNumbers(series.mins);
  if (!AllSame(series.maxs, series.lasts)) text["max"] = arrays.AddNumbers(series.maxs);
  if (std::any_of(series.nans.begin(), series.nans.end(), [](auto count) { return count > 0; })) {
    text["nan"] = arrays.Add("u32", series.nans);
  }
  return text;
}

// What stands in the text depends on how long it is: places are counted from behind it first.
void MovePlaces(json& text, std::size_t by) {
  for (json& series : text["series"]) {
    for (json& member : series) {
      if (member.is_object()) member["at"] = member["at"].get<std::size_t>() + by;
    }
  }
}

}  // namespace

std::string EncodeSeries(std::span<const SeriesColumns> series) {
  Arrays arrays;
  json text = {{"series", json::array()}};
  for (const SeriesColumns& one : series) text["series"].push_back(Describe(one, arrays));
  const auto dump = [&] { return text.dump(-1, ' ', false, json::error_handler_t::replace); };
  // Room for longer numbers in the moved places; spaces at the end of JSON say nothing.
  constexpr std::size_t kLongerNumbers = 8 * 12;
  std::size_t room = dump().size() + series.size() * kLongerNumbers + 2 * kAlignment;
  room = room / kAlignment * kAlignment;
  MovePlaces(text, kAlignment + room);
  std::string body = "YSR1";
  const auto length = static_cast<std::uint32_t>(room);
  body.append(reinterpret_cast<const char*>(&length), sizeof length);
  body += dump();
  body.resize(kAlignment + room, ' ');
  arrays.AppendTo(body);
  return body;
}

}  // namespace web
