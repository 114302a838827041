#include "launcher/job/probe_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <string_view>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "launcher/job/cluster.h"
#include "runtime/text/printable.h"
#include "runtime/text/string_view.h"

namespace launcher {
namespace {

constexpr std::string_view kScheme = "http://";
constexpr std::size_t kLongest = 2000;

absl::Status Wrong(std::string_view name, std::string_view text, std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(runtime::Absl(name), ": \"",
                                                 runtime::Printable(text.substr(0, 100)), "\" ",
                                                 runtime::Absl(what)));
}

bool IsAddress(const std::string& host) {
  in_addr four = {};
  in6_addr six = {};
  return inet_pton(AF_INET, host.c_str(), &four) == 1 ||
         inet_pton(AF_INET6, host.c_str(), &six) == 1;
}

// Parses HOST:PORT, a port, or "own"; false for any other text.
bool ParseHost(std::string_view text, int port_of_none, ProbeAddress* address) {
  if (text == "own") return true;
  std::string whole(text);
  int port = 0;
  if (absl::SimpleAtoi(whole, &port) && whole.find_first_not_of("0123456789") == whole.npos) {
    whole = absl::StrCat("127.0.0.1:", port);
  } else if (port_of_none != 0 && !ParseHostPort(whole)) {
    absl::StrAppend(&whole, ":", port_of_none);
  }
  const auto parsed = ParseHostPort(whole);
  if (!parsed) return false;
  address->host = parsed->host == "localhost" ? "127.0.0.1" : parsed->host;
  address->port = parsed->port;
  return IsAddress(address->host);
}

}  // namespace

absl::StatusOr<ProbeAddress> ParseProbeAddress(const msg::ProbeT& probe) {
  ProbeAddress address;
  constexpr std::string_view kHosts =
      "is no HOST:PORT, where the host is an address or localhost; nor a port, nor own";
  if (!probe.tcp.empty()) {
    if (!ParseHost(probe.tcp, 0, &address)) return Wrong("tcp", probe.tcp, kHosts);
    return address;
  }
  if (probe.http.empty()) return address;
  const std::string_view url = probe.http;
  if (!url.starts_with(kScheme)) return Wrong("http", url, "does not begin with http://");
  const bool is_text = std::all_of(url.begin(), url.end(), [](char c) {
    return static_cast<unsigned char>(c) > 0x20 && static_cast<unsigned char>(c) < 0x7f;
  });
  if (!is_text || url.size() > kLongest) {
    return Wrong("http", url, "is no URL of at most 2000 printable characters of ASCII");
  }
  const std::string_view rest = url.substr(kScheme.size());
  const std::size_t slash = std::min(rest.find_first_of("/?#"), rest.size());
  const std::string_view host = rest.substr(0, slash);
  if (!ParseHost(host, 80, &address)) return Wrong("http", url, kHosts);
  if (host != "own") address.authority = std::string(host);
  address.path = slash == rest.size() || rest[slash] != '/'
                     ? absl::StrCat("/", runtime::Absl(rest.substr(slash)))
                     : std::string(rest.substr(slash));
  return address;
}

}  // namespace launcher
