#include "web/http/guard.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "web/http/message.h"
#include "web/http/problem.h"

namespace web {
namespace {

constexpr std::array<std::string_view, 2> kSafeMethods = {"GET", "HEAD"};
constexpr std::array<std::string_view, 4> kChangingMethods = {"POST", "PUT", "PATCH", "DELETE"};

template <std::size_t N>
bool IsAmong(const std::array<std::string_view, N>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Refuses requests from another site, as far as the browser reports the origin.
std::optional<Response> RefuseForeignPage(const Request& request) {
  const std::string ours = absl::StrCat("http://", std::string(request.Header("host")));
  for (const std::string_view origin : request.All("origin")) {
    if (origin != ours) {
      return Problem(403, "the request comes from another site's page",
                     "open the page with: yard ui");
    }
  }
  for (const std::string_view site : request.All("sec-fetch-site")) {
    if (site != "same-origin" && site != "none") {
      return Problem(403, "the request comes from another site's page",
                     "open the page with: yard ui");
    }
  }
  return std::nullopt;
}

bool IsJson(std::string_view type) {
  const std::string_view media = type.substr(0, type.find(';'));
  const auto word = absl::StripAsciiWhitespace({media.data(), media.size()});
  return absl::AsciiStrToLower(word) == "application/json";
}

bool IsPort(std::string_view text) {
  return !text.empty() && text.size() <= 5 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::string HostWithoutPort(std::string_view value) {
  // Colons inside brackets belong to the IPv6 address.
  const std::size_t bracket = value.starts_with('[') ? value.find(']') : 0;
  if (bracket == std::string_view::npos) return "";
  const std::size_t colon = value.find(':', bracket);
  if (colon != std::string_view::npos && !IsPort(value.substr(colon + 1))) return "";
  const std::string_view host = value.substr(0, colon);
  if (bracket != 0 && host.size() != bracket + 1) return "";
  return absl::AsciiStrToLower({host.data(), host.size()});
}

Guard::Guard(const std::vector<std::string>& hosts) : hosts_({"localhost", "127.0.0.1", "[::1]"}) {
  for (const std::string& host : hosts) hosts_.push_back(absl::AsciiStrToLower(host));
}

std::optional<Response> Guard::RefuseHost(const Request& request) const {
  const auto values = request.All("host");
  if (values.size() != 1) return Problem(400, "the request has no Host header, or several");
  const std::string host = HostWithoutPort(values.front());
  if (std::find(hosts_.begin(), hosts_.end(), host) != hosts_.end()) return std::nullopt;
  return Problem(421, absl::StrCat("this server is not ", std::string(values.front())),
                 "another name has to be given to the web service: --host NAME");
}

std::optional<Response> Guard::Refuse(const Request& request) const {
  const bool safe = IsAmong(kSafeMethods, request.method);
  if (!safe && !IsAmong(kChangingMethods, request.method)) {
    return Problem(405, "the method is none of GET, HEAD, POST, PUT, PATCH, DELETE");
  }
  if (request.door == Door::kPort) {
    if (auto refused = RefuseHost(request)) return refused;
    if (safe) return std::nullopt;
    if (auto refused = RefuseForeignPage(request)) return refused;
  }
  if (!safe && !IsJson(request.Header("content-type"))) {
    return Problem(415, "a request that changes something has a body of JSON",
                   "send the header Content-Type: application/json");
  }
  return std::nullopt;
}

}  // namespace web
