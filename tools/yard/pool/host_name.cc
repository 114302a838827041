#include "tools/yard/pool/host_name.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/text/printable.h"
#include "runtime/text/string_view.h"

namespace yard {
namespace {

constexpr std::size_t kMostHosts = 1000, kLongestName = 32, kLongestNode = 64, kLongestHost = 255;
constexpr std::string_view kVerbs[] = {"drain", "resume", "rm"};

bool IsOfName(char c) {
  return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '.' || c == '-';
}

}  // namespace

absl::StatusOr<PoolHost> ParsePoolHost(std::string_view address) {
  const std::string shown = runtime::Printable(address);
  const bool is_plain =
      std::all_of(address.begin(), address.end(), [](char c) { return absl::ascii_isgraph(c); });
  if (address.empty() || address.starts_with('-') || !is_plain || address.size() > kLongestHost) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", shown,
                     "\" is no host for ssh; expected a name like gpu1, ann@gpu1 or "
                     "ssh://ann@gpu1:2222"));
  }
  std::string_view name = address;
  constexpr std::string_view kScheme = "ssh://";
  const bool has_scheme = name.starts_with(kScheme);
  if (has_scheme) name.remove_prefix(kScheme.size());
  name.remove_prefix(name.rfind('@') + 1);
  if (has_scheme && name.rfind(':') != name.npos) name = name.substr(0, name.rfind(':'));
  PoolHost host{.address = std::string(address)};
  for (const char c : name.substr(0, kLongestNode)) {
    const char lower = absl::ascii_tolower(c);
    host.node += IsOfName(lower) ? lower : '-';
  }
  host.node.erase(0, host.node.find_first_not_of("-."));
  if (host.node.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", shown, "\" has no letter and no digit for the name of its node"));
  }
  return host;
}

absl::StatusOr<std::vector<PoolHost>> ParsePoolHosts(std::string_view text) {
  std::vector<PoolHost> hosts;
  for (const absl::string_view word : absl::StrSplit(runtime::Absl(text), ',', absl::SkipEmpty())) {
    auto host = ParsePoolHost(runtime::Std(word));
    if (!host.ok()) return host.status();
    const auto same = std::find_if(hosts.begin(), hosts.end(),
                                   [&](const PoolHost& one) { return one.node == host->node; });
    if (same == hosts.end()) {
      hosts.push_back(*std::move(host));
    } else if (same->address != host->address) {
      return absl::InvalidArgumentError(
          absl::StrCat(same->address, " and ", host->address, " would both be node ", host->node,
                       "; next: give one of them another name in ~/.ssh/config"));
    }
  }
  if (hosts.empty()) return absl::InvalidArgumentError("--hosts names no host");
  if (hosts.size() > kMostHosts) {
    return absl::InvalidArgumentError(absl::StrCat("a pool has at most ", kMostHosts, " hosts"));
  }
  return hosts;
}

absl::Status CheckPoolName(std::string_view name) {
  if (std::find(std::begin(kVerbs), std::end(kVerbs), name) != std::end(kVerbs)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", std::string(name), "\" is a word of `yard pool`, and no name of a pool"));
  }
  if (name.empty() || name.size() > kLongestName || name.front() == '-' || name.front() == '.' ||
      !std::all_of(name.begin(), name.end(), IsOfName)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", runtime::Printable(name), "\" is no name of a pool: expected at most ", kLongestName,
        " of a-z, 0-9, \"-\" and \".\", with a letter or a digit at its beginning"));
  }
  return absl::OkStatus();
}

}  // namespace yard
