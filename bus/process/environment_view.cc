#include "bus/process/environment_view.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "runtime/text/string_view.h"

namespace bus {
namespace {

constexpr std::string_view kSecretWords[] = {"TOKEN",      "SECRET", "KEY",    "PASS",
                                             "CREDENTIAL", "AUTH",   "COOKIE", "PRIVATE"};

// True if the value contains "scheme://user:word@host".
bool HasPassword(std::string_view value) {
  for (std::size_t at = value.find("://"); at != std::string_view::npos; at = value.find("://")) {
    value.remove_prefix(at + 3);
    const std::string_view authority = value.substr(0, value.find_first_of("/ \t\n"));
    const std::size_t host = authority.rfind('@');
    if (host != std::string_view::npos && authority.substr(0, host).find(':') < host) return true;
  }
  return false;
}

std::string Show(std::string_view entry, msg::EnvironmentView view) {
  const std::size_t equals = std::min(entry.find('='), entry.size());
  const std::string_view name = entry.substr(0, equals);
  if (view == msg::EnvironmentView::Names) return std::string(name);
  if (!NamesSecret(name) && !HasPassword(entry.substr(equals))) return std::string(entry);
  return absl::StrCat(runtime::Absl(name), "=", runtime::Absl(kHiddenValue));
}

}  // namespace

bool NamesSecret(std::string_view name) {
  const std::string upper = absl::AsciiStrToUpper(runtime::Absl(name));
  return std::any_of(std::begin(kSecretWords), std::end(kSecretWords),
                     [&](std::string_view word) { return upper.find(word) != std::string::npos; });
}

std::vector<std::string> ViewOf(std::vector<std::string> environment, msg::EnvironmentView view) {
  if (view != msg::EnvironmentView::Names && view != msg::EnvironmentView::Values) return {};
  for (std::string& entry : environment) entry = Show(entry, view);
  std::sort(environment.begin(), environment.end());
  return environment;
}

}  // namespace bus
