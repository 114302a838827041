#include "trainer/function/named_values.h"

#include <charconv>
#include <cmath>
#include <stdexcept>
#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "runtime/text/json_number.h"
#include "runtime/text/json_value.h"
#include "runtime/text/string_view.h"

namespace trainer {
namespace {

using runtime::Absl;
using runtime::JsonValue;

constexpr double kExact = 9007199254740992;  // 2^53: whole numbers up to it are exact.

std::string NumberText(double number) {
  if (!std::isfinite(number)) return std::string(runtime::NotFiniteWord(number));
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, number).ptr;
  std::string text(buffer, end);
  // Without a fraction or an exponent it would be read back as an integer.
  if (text.find_first_of(".e") == text.npos) text += ".0";
  return text;
}

[[noreturn]] void Refuse(std::string_view name, const Value* found, std::string_view wanted) {
  std::string text = absl::StrCat("\"", Absl(name), "\" ");
  if (found == nullptr) {
    absl::StrAppend(&text, "is not there; expected ", Absl(wanted));
  } else {
    absl::StrAppend(&text, "is ");
    found->AppendJson(text);
    absl::StrAppend(&text, ", not ", Absl(wanted));
  }
  throw std::invalid_argument(text);
}

// Returns the value converted by `convert`.
template <typename T>
T Get(const Value* found, std::string_view name, std::optional<T> (Value::*convert)() const,
      std::string_view wanted) {
  const std::optional<T> value = found == nullptr ? std::nullopt : (found->*convert)();
  if (!value) Refuse(name, found, wanted);
  return *value;
}

constexpr std::size_t kMaxNames = 64 << 20;  // Bytes of all flattened names.

// Collects the leaves. If a name occurs twice, the last value replaces the first one, in its place.
class Flattener {
 public:
  explicit Flattener(std::vector<NamedValues::Entry>& out) : out_(out) {}

  absl::Status Add(std::string name, const JsonValue& json) {
    if (json.kind == JsonValue::Kind::kObject) {
      for (const auto& [inner, value] : json.members) {
        if (auto added = Add(absl::StrCat(name, "/", inner), value); !added.ok()) return added;
      }
      return absl::OkStatus();
    }
    auto value = Value::FromJson(runtime::CompactJson(json));
    if (!value.ok()) return value.status();
    bytes_ += name.size();
    if (bytes_ > kMaxNames) return absl::InvalidArgumentError("the names are too long");
    const auto [known, is_new] = places_.emplace(name, out_.size());
    if (is_new) {
      out_.emplace_back(std::move(name), *std::move(value));
    } else {
      out_[known->second].second = *std::move(value);
    }
    return absl::OkStatus();
  }

 private:
  std::vector<NamedValues::Entry>& out_;
  std::unordered_map<std::string, std::size_t> places_;
  std::size_t bytes_ = 0;
};

}  // namespace

absl::StatusOr<Value> Value::FromJson(std::string_view json) {
  // These limits admit every value that Set() accepts.
  const auto parsed = runtime::ParseJson(json, {64, 16 << 20});
  if (!parsed.ok()) return parsed.status();
  Value value;
  switch (parsed->kind) {
    case JsonValue::Kind::kNull:
      break;
    case JsonValue::Kind::kBool:
      value.value_ = parsed->boolean;
      break;
    case JsonValue::Kind::kInteger:
      value.value_ = parsed->integer;
      break;
    case JsonValue::Kind::kDouble:
      value.value_ = parsed->number;
      break;
    case JsonValue::Kind::kString:
      value.value_ = runtime::StringOf(*parsed);
      break;
    case JsonValue::Kind::kArray:
    case JsonValue::Kind::kObject:
      value.value_ = Json{runtime::CompactJson(*parsed)};
      break;
  }
  return value;
}

std::optional<double> Value::AsNumber() const {
  if (const auto* truth = std::get_if<bool>(&value_)) return *truth ? 1 : 0;
  if (const auto* integer = std::get_if<std::int64_t>(&value_)) {
    return static_cast<double>(*integer);
  }
  if (const auto* number = std::get_if<double>(&value_)) return *number;
  return std::nullopt;
}

std::optional<std::int64_t> Value::AsInteger() const {
  if (const auto* integer = std::get_if<std::int64_t>(&value_)) return *integer;
  const auto* number = std::get_if<double>(&value_);
  if (number == nullptr || !(std::abs(*number) <= kExact) || *number != std::floor(*number)) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(*number);
}

std::optional<bool> Value::AsBool() const {
  if (const auto* truth = std::get_if<bool>(&value_)) return *truth;
  return std::nullopt;
}

void Value::AppendJson(std::string& out) const {
  if (const auto* truth = std::get_if<bool>(&value_)) {
    out += *truth ? "true" : "false";
  } else if (const auto* integer = std::get_if<std::int64_t>(&value_)) {
    absl::StrAppend(&out, *integer);
  } else if (const auto* number = std::get_if<double>(&value_)) {
    out += NumberText(*number);
  } else if (const auto* text = std::get_if<std::string>(&value_)) {
    out += runtime::Quote(*text);
  } else if (const auto* json = std::get_if<Json>(&value_)) {
    out += json->text;
  } else {
    out += "null";
  }
}

std::size_t Value::size() const {
  std::size_t text = 0;
  if (const auto* string = std::get_if<std::string>(&value_)) text = string->size();
  if (const auto* json = std::get_if<Json>(&value_)) text = json->text.size();
  return text + sizeof(Value);
}

NamedValues::NamedValues(std::initializer_list<Entry> entries) {
  entries_.reserve(entries.size());
  for (const auto& [name, value] : entries) Set(name, value);
}

absl::StatusOr<NamedValues> NamedValues::FromJson(std::string_view json) {
  const auto parsed = runtime::ParseJson(json);
  if (!parsed.ok()) return parsed.status();
  if (parsed->kind != JsonValue::Kind::kObject) {
    return absl::InvalidArgumentError("expected a JSON object of named values");
  }
  NamedValues values;
  Flattener flattener(values.entries_);
  for (const auto& [name, value] : parsed->members) {
    if (auto added = flattener.Add(name, value); !added.ok()) return added;
  }
  return values;
}

void NamedValues::Set(std::string_view name, Value value) {
  for (Entry& entry : entries_) {
    if (entry.first != name) continue;
    entry.second = std::move(value);
    return;
  }
  entries_.emplace_back(name, std::move(value));
}

const Value* NamedValues::Find(std::string_view name) const {
  for (const auto& [known, value] : entries_) {
    if (known == name) return &value;
  }
  return nullptr;
}

double NamedValues::Number(std::string_view name) const {
  return Get(Find(name), name, &Value::AsNumber, "a number");
}

double NamedValues::Number(std::string_view name, double otherwise) const {
  return Has(name) ? Number(name) : otherwise;
}

std::int64_t NamedValues::Integer(std::string_view name) const {
  return Get(Find(name), name, &Value::AsInteger, "an integer");
}

std::int64_t NamedValues::Integer(std::string_view name, std::int64_t otherwise) const {
  return Has(name) ? Integer(name) : otherwise;
}

bool NamedValues::Bool(std::string_view name, bool otherwise) const {
  return Has(name) ? Get(Find(name), name, &Value::AsBool, "true or false") : otherwise;
}

const std::string& NamedValues::Text(std::string_view name) const {
  const Value* const found = Find(name);
  const std::string* const text = found == nullptr ? nullptr : found->AsText();
  if (text == nullptr) Refuse(name, found, "a text");
  return *text;
}

std::string NamedValues::Text(std::string_view name, std::string_view otherwise) const {
  return Has(name) ? Text(name) : std::string(otherwise);
}

std::size_t NamedValues::size() const {
  std::size_t bytes = 0;
  for (const auto& [name, value] : entries_) bytes += sizeof name + name.size() + value.size();
  return bytes;
}

std::string NamedValues::ToJson() const {
  std::string json = "{";
  for (const auto& [name, value] : entries_) {
    absl::StrAppend(&json, json.size() > 1 ? "," : "", runtime::Quote(name), ":");
    value.AppendJson(json);
  }
  return json + "}";
}

}  // namespace trainer
