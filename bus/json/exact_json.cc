#include "bus/json/exact_json.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace bus {
namespace {

using nlohmann::json;

constexpr std::int64_t kMaxExact = std::int64_t{1} << 53;

bool IsInexact(const json& value) {
  if (value.is_number_unsigned()) return value.get<std::uint64_t>() > std::uint64_t{kMaxExact};
  if (!value.is_number_integer()) return false;
  const auto number = value.get<std::int64_t>();
  return number > kMaxExact || number < -kMaxExact;
}

// Builds a value from the parser's events, which include the text of each number.
class Builder : public nlohmann::json_sax<json> {
 public:
  json Take() { return std::move(root_); }

  bool null() override { return Add(nullptr); }
  bool boolean(bool value) override { return Add(value); }
  bool number_integer(number_integer_t value) override { return Add(ExactJson(value)); }
  bool number_unsigned(number_unsigned_t value) override { return Add(ExactJson(value)); }
  // Also called for an integer that does not fit in 64 bits.
  bool number_float(number_float_t value, const string_t& text) override {
    return Add(text.find_first_of(".eE") == std::string::npos ? json(text) : json(value));
  }
  bool string(string_t& value) override { return Add(std::move(value)); }
  bool binary(binary_t&) override { return false; }  // JSON has no binary values.
  bool start_object(std::size_t) override { return Open(json::object()); }
  bool key(string_t& value) override {
    key_ = std::move(value);
    return true;
  }
  bool end_object() override { return Close(); }
  bool start_array(std::size_t) override { return Open(json::array()); }
  bool end_array() override { return Close(); }
  bool parse_error(std::size_t, const std::string&, const json::exception&) override {
    return false;
  }

 private:
  json* Put(json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    json& parent = *open_.back();
    if (parent.is_object()) return &(parent[key_] = std::move(value));
    parent.push_back(std::move(value));
    return &parent.back();
  }
  bool Add(json value) {
    Put(std::move(value));
    return true;
  }
  bool Open(json value) {
    open_.push_back(Put(std::move(value)));
    return true;
  }
  bool Close() {
    open_.pop_back();
    return true;
  }

  json root_;
  std::vector<json*> open_;  // Each is inside the previous one; only the last one grows.
  std::string key_;
};

}  // namespace

json ParseExactJson(std::string_view text) {
  Builder builder;
  if (!json::sax_parse(text, &builder)) return json::value_t::discarded;
  return builder.Take();
}

json ExactJson(json value) {
  if (IsInexact(value)) return value.dump();
  if (value.is_structured()) {
    for (json& part : value) part = ExactJson(std::move(part));
  }
  return value;
}

}  // namespace bus
