#include "tools/yard/at/place.h"

#include <algorithm>
#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/text/printable.h"

namespace yard {
namespace {

constexpr std::string_view kFlag = "--at";
// Characters that no shell interprets.
constexpr std::string_view kPlainPath =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./+@~";

// Returns the start of the path in "HOST:/path" and "HOST:~/path"; npos if there is only a host.
std::size_t PathIn(std::string_view text) {
  constexpr std::string_view kUri = "ssh://";
  const std::size_t from = text.starts_with(kUri) ? kUri.size() : 0;
  return std::min(text.find(":/", from), text.find(":~/", from));
}

}  // namespace

bool IsPlainPath(std::string_view path) {
  return path.find_first_not_of(kPlainPath) == std::string_view::npos;
}

absl::StatusOr<Place> ParsePlace(std::string_view text) {
  const std::size_t colon = PathIn(text);
  Place place = {.host = std::string(text.substr(0, colon))};
  if (colon != std::string_view::npos) place.program = text.substr(colon + 1);
  const std::string shown = runtime::Printable(text);
  if (place.host.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("--at needs a host, as ssh takes it",
                                                   shown.empty() ? "" : ", and not ", shown,
                                                   "; next: yard --at HOST VERB"));
  }
  if (place.host[0] == '-' || !runtime::IsPrintable(place.host) ||
      place.host.find(' ') != std::string::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("--at: \"", shown, "\" is no name of a host; next: yard --at HOST VERB"));
  }
  if (!IsPlainPath(place.program)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--at: the path of yard in \"", shown,
        "\" may have letters, digits and -_./+@~ only; next: make a link to it there"));
  }
  return place;
}

absl::StatusOr<std::optional<Place>> TakePlace(std::vector<std::string>& words,
                                               const char* variable) {
  std::string text = variable == nullptr ? "" : variable;
  if (!words.empty() && words[0] == kFlag) {
    if (words.size() < 2) return ParsePlace("").status();
    text = words[1];
    words.erase(words.begin(), words.begin() + 2);
  } else if (!words.empty() && words[0].starts_with("--at=")) {
    text = words[0].substr(kFlag.size() + 1);
    words.erase(words.begin());
  }
  if (text.empty()) return std::nullopt;
  auto place = ParsePlace(text);
  if (!place.ok()) return place.status();
  return std::optional<Place>(*std::move(place));
}

}  // namespace yard
