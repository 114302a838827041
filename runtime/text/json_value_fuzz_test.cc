// The parser accepts or rejects any text, and can parse again what it accepted.

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "runtime/text/json_value.h"

namespace {

void Check(bool holds) {
  if (!holds) std::abort();
}

// Member names with lone surrogates become U+FFFD, and may then be equal.
void CheckNames(std::string_view text) {
  const auto kept = runtime::ParseJson(text, {.lone_surrogates = runtime::LoneSurrogates::kKept});
  const auto replaced = runtime::ParseJson(text);
  Check(kept.ok() == replaced.ok());
  if (kept.ok()) Check(kept->members.size() >= replaced->members.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  CheckNames(text);
  const auto json = runtime::ParseJson(text);
  if (!json.ok()) return 0;
  const std::string once = runtime::CompactJson(*json);
  const auto again = runtime::ParseJson(once);
  Check(again.ok() && runtime::CompactJson(*again) == once);
  const std::string pretty = runtime::PrettyJson(*json);
  const auto third = runtime::ParseJson(pretty);
  Check(third.ok() && runtime::PrettyJson(*third) == pretty);
  return 0;
}
