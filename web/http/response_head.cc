#include "web/http/response_head.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "web/http/message.h"

namespace web {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kOfEveryResponse = {{
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
     "media-src blob:; "
     "connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; "
     "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types yard"},
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cache-Control", "no-store"},
}};

void AddHeader(std::string_view name, std::string_view value, std::string& head) {
  head += name;
  head += ": ";
  for (const char c : value) head += c == '\r' || c == '\n' || c == '\0' ? ' ' : c;
  head += "\r\n";
}

bool Has(const Response& response, std::string_view name) {
  return std::any_of(response.headers.begin(), response.headers.end(), [&](const auto& header) {
    return absl::AsciiStrToLower(header.first) == absl::AsciiStrToLower({name.data(), name.size()});
  });
}

}  // namespace

std::string ResponseHead(const Response& response, Framing framing, bool keep_alive) {
  std::string head = "HTTP/1.1 ";
  absl::StrAppend(&head, response.status, " ");
  head += ReasonPhrase(response.status);
  head += "\r\n";
  if (!response.type.empty()) AddHeader("Content-Type", response.type, head);
  for (const auto& [name, value] : kOfEveryResponse) {
    if (!Has(response, name)) AddHeader(name, value, head);
  }
  for (const auto& [name, value] : response.headers) AddHeader(name, value, head);
  if (framing == Framing::kLength) {
    AddHeader("Content-Length", absl::StrCat(response.body.size()), head);
  } else if (framing == Framing::kChunks) {
    AddHeader("Transfer-Encoding", "chunked", head);
  }
  if (!keep_alive) AddHeader("Connection", "close", head);
  head += "\r\n";
  return head;
}

}  // namespace web
