#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "sdk/cc/yard.h"

// Checks that an object that parses still parses after its strings were rewritten.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto members = yard::internal::ParseObject(text);
  if (!members.has_value()) return 0;
  std::string again = "{";
  for (const yard::internal::Member& member : *members) {
    if (again.size() > 1) again += ',';
    yard::internal::AppendString(member.name, &again);
    again += ':';
    again += member.value;
    yard::internal::ParseNumber(member.value);
    yard::internal::ParseInteger(member.value);
    yard::internal::ParseString(member.value);
    for (const std::string& element : yard::internal::Elements(member.value)) {
      if (!yard::internal::ParseObject("{\"e\":" + element + '}').has_value()) std::abort();
    }
    yard::NumberIn(text, member.name);
    yard::TextIn(member.value, "a/b");
  }
  again += '}';
  const auto second = yard::internal::ParseObject(again);
  if (!second.has_value() || second->size() != members->size()) std::abort();
  return 0;
}
