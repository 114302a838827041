// Parses an untrusted request line and headers: no path may leave the served routes, and a request
// that does not name this host is refused.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "web/http/guard.h"
#include "web/http/message.h"
#include "web/http/target.h"

namespace {

std::string_view TakeLine(std::string_view& rest) {
  const std::size_t end = std::min(rest.find('\n'), rest.size());
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return line;
}

void Require(bool holds) {
  if (!holds) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  web::Request request = {.method = std::string(TakeLine(rest))};
  if (auto target = web::ParseTarget(TakeLine(rest)); target.ok()) {
    request.target = *std::move(target);
  }
  for (const std::string& segment : request.target.segments) {
    Require(!segment.empty() && segment != "." && segment != "..");
    Require(segment.find('\0') == std::string::npos);
  }
  while (!rest.empty()) {
    const std::string_view line = TakeLine(rest);
    const std::size_t colon = std::min(line.find(':'), line.size());
    request.headers.emplace_back(absl::AsciiStrToLower({line.data(), colon}),
                                 std::string(line.substr(std::min(colon + 1, line.size()))));
  }
  if (web::Guard().Refuse(request)) return 0;
  const std::string host = web::HostWithoutPort(request.Header("host"));
  Require(host == "localhost" || host == "127.0.0.1" || host == "[::1]");
  if (request.method == "GET" || request.method == "HEAD") return 0;
  for (const std::string_view origin : request.All("origin")) {
    Require(web::HostWithoutPort(origin.substr(std::min<std::size_t>(7, origin.size()))) == host);
  }
  return 0;
}
