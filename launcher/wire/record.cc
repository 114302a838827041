#include "launcher/wire/record.h"

#include <charconv>

namespace launcher {
namespace {

constexpr std::string_view kMagic = "YARD-RECORD 1 ";

// Removes the text up to `end` from the front of `rest`, and `end` itself; returns the text.
std::optional<std::string_view> TakeUntil(std::string_view& rest, char end) {
  const auto at = rest.find(end);
  if (at == std::string_view::npos) return std::nullopt;
  const auto taken = rest.substr(0, at);
  rest.remove_prefix(at + 1);
  return taken;
}

std::optional<std::int64_t> Number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<Record> Record::Parse(std::string_view bytes) {
  if (!bytes.starts_with(kMagic)) return std::nullopt;
  bytes.remove_prefix(kMagic.size());
  const auto kind = TakeUntil(bytes, '\n');
  if (!kind) return std::nullopt;
  Record record{std::string(*kind)};
  while (!bytes.empty()) {
    const auto key = TakeUntil(bytes, ' ');
    const auto length_text = TakeUntil(bytes, '\n');
    if (!key || !length_text) return std::nullopt;
    const auto length = Number(*length_text);
    if (!length || *length < 0 || static_cast<std::uint64_t>(*length) >= bytes.size() ||
        bytes[*length] != '\n') {
      return std::nullopt;
    }
    record.Add(*key, bytes.substr(0, *length));
    bytes.remove_prefix(*length + 1);
  }
  return record;
}

std::string Record::Encode() const {
  std::string bytes(kMagic);
  bytes += kind_ + "\n";
  for (const auto& [key, value] : fields_) {
    bytes += key + " " + std::to_string(value.size()) + "\n" + value + "\n";
  }
  return bytes;
}

void Record::Add(std::string_view key, std::string_view value) {
  fields_.emplace_back(std::string(key), std::string(value));
}

void Record::AddNumber(std::string_view key, std::int64_t value) {
  Add(key, std::to_string(value));
}

void Record::AddAll(std::string_view key, const std::vector<std::string>& values) {
  for (const auto& value : values) Add(key, value);
}

bool Record::Has(std::string_view key) const {
  for (const auto& field : fields_) {
    if (field.first == key) return true;
  }
  return false;
}

std::string Record::Get(std::string_view key) const {
  for (const auto& field : fields_) {
    if (field.first == key) return field.second;
  }
  return {};
}

std::int64_t Record::GetNumber(std::string_view key) const { return Number(Get(key)).value_or(0); }

std::vector<std::string> Record::GetAll(std::string_view key) const {
  std::vector<std::string> values;
  for (const auto& field : fields_) {
    if (field.first == key) values.push_back(field.second);
  }
  return values;
}

}  // namespace launcher
