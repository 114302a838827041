#ifndef TRAINER_FUNCTION_NAMED_VALUES_H_
#define TRAINER_FUNCTION_NAMED_VALUES_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"

namespace trainer {

// A value that a function reports, or is configured with, under one name: null, a bool, an integer,
// a double, a string, or any other JSON (an array). Converts from the plain C++ types.
class Value {
 public:
  Value() = default;
  template <std::integral T>
  Value(T value) : value_(Of(value)) {}  // NOLINT(google-explicit-constructor): {"epoch", 3}.
  template <std::floating_point T>
  Value(T value) : value_(static_cast<double>(value)) {}  // NOLINT(google-explicit-constructor)
  Value(const char* text) : value_(std::string(text)) {}  // NOLINT(google-explicit-constructor)
  Value(std::string text) : value_(std::move(text)) {}    // NOLINT(google-explicit-constructor)
  Value(std::string_view text)                            // NOLINT(google-explicit-constructor)
      : value_(std::string(text)) {}
  // Parses any JSON; InvalidArgument if it is malformed.
  static absl::StatusOr<Value> FromJson(std::string_view json);

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  // Returns an integer or a double; a bool counts as 0 or 1.
  std::optional<double> AsNumber() const;
  // Returns an integer, or a double that is whole and exact (at most 2^53).
  std::optional<std::int64_t> AsInteger() const;
  std::optional<bool> AsBool() const;
  // Returns null if it is not a string. Valid as long as the value lives.
  const std::string* AsText() const { return std::get_if<std::string>(&value_); }

  // Appends the value as JSON. Numbers read back as the same value and kind; bytes of a string that
  // are not UTF-8 become U+FFFD.
  void AppendJson(std::string& out) const;
  // Returns the approximate memory use, in bytes.
  std::size_t size() const;
  bool operator==(const Value&) const = default;

 private:
  struct Json {
    std::string text;
    bool operator==(const Json&) const = default;
  };
  using Storage = std::variant<std::monostate, bool, std::int64_t, double, std::string, Json>;
  template <std::integral T>
  static Storage Of(T value) {
    if constexpr (std::same_as<T, bool>) {
      return Storage(std::in_place_type<bool>, value);
    } else if (std::in_range<std::int64_t>(value)) {
      return Storage(std::in_place_type<std::int64_t>, static_cast<std::int64_t>(value));
    } else {
      return Storage(std::in_place_type<double>, static_cast<double>(value));
    }
  }

  Storage value_;
};

// An ordered list of named values: what a function reports, is configured with, or saves as a
// checkpoint. Names are unique: the last value of a name wins. A value nested in JSON has a name
// with "/": {"a": {"b": 1}} is "a/b". A lookup takes time linear in their count.
class NamedValues {
 public:
  using Entry = std::pair<std::string, Value>;

  NamedValues() = default;
  NamedValues(std::initializer_list<Entry> entries);
  // Parses a JSON object; InvalidArgument if `json` is not one.
  static absl::StatusOr<NamedValues> FromJson(std::string_view json);

  void Set(std::string_view name, Value value);
  // Returns null if no value has that name.
  const Value* Find(std::string_view name) const;
  bool Has(std::string_view name) const { return Find(name) != nullptr; }

  // Return the value of that name. They throw std::invalid_argument, which names the value, if it
  // is missing or of another kind; if the exception leaves the function, it is the reason of the
  // failure. With `otherwise`, a missing name returns `otherwise`, and they throw only for another
  // kind.
  double Number(std::string_view name) const;
  double Number(std::string_view name, double otherwise) const;
  std::int64_t Integer(std::string_view name) const;
  std::int64_t Integer(std::string_view name, std::int64_t otherwise) const;
  bool Bool(std::string_view name, bool otherwise) const;
  const std::string& Text(std::string_view name) const;
  std::string Text(std::string_view name, std::string_view otherwise) const;

  bool empty() const { return entries_.empty(); }
  std::size_t count() const { return entries_.size(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  // Returns the approximate memory use, in bytes.
  std::size_t size() const;
  // Returns one JSON object on one line, in this order.
  std::string ToJson() const;
  bool operator==(const NamedValues&) const = default;

 private:
  std::vector<Entry> entries_;
};

}  // namespace trainer

#endif  // TRAINER_FUNCTION_NAMED_VALUES_H_
