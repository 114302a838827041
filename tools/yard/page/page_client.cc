#include "tools/yard/page/page_client.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cctype>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "nlohmann/json.hpp"
#include "tools/yard/page/http_exchange.h"

namespace yard {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(5);

absl::Status NotThere(const std::string& why) {
  return absl::UnavailableError(absl::StrCat("the web service does not answer: ", why));
}

// Posts to the web service's unix socket, where the service knows the caller's user id.
absl::StatusOr<HttpAnswer> Post(const runtime::Locations& locations, const std::string& target) {
  const std::string path = locations.runtime_directory + "/http";
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return NotThere("the path of its socket is too long");
  memcpy(address.sun_path, path.data(), path.size());
  const std::string request =
      absl::StrCat("POST ", target,
                   " HTTP/1.0\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                   "Content-Length: 2\r\n\r\n{}");
  auto answer =
      ExchangeHttp(reinterpret_cast<const sockaddr*>(&address), sizeof address, request, kPatience);
  if (!answer.ok()) {
    return NotThere(absl::StrCat(path, ": ", answer.status().message()));
  }
  return answer;
}

std::string TextOf(const nlohmann::json& body, const char* key) {
  const auto found = body.find(key);
  return found != body.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace

std::string PathOfRun(const std::string& run) {
  std::string path = "run/";
  for (const char c : run) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || strchr("-_.~", c) != nullptr) {
      path += c;
    } else {
      absl::StrAppendFormat(&path, "%%%02X", byte);
    }
  }
  return path;
}

std::string PageAddress(const runtime::Locations& locations) {
  const auto answer = Post(locations, "/api/v1/address");
  return answer.ok() && answer->status == 200 ? TextOf(answer->body, "address") : "";
}

absl::StatusOr<std::string> AddressWithKey(const runtime::Locations& locations,
                                           const std::string& path) {
  const auto answer = Post(locations, "/api/v1/key");
  if (!answer.ok()) return answer.status();
  const std::string address = TextOf(answer->body, "address"), key = TextOf(answer->body, "key");
  if (answer->status != 200 || key.empty()) {
    const std::string title = TextOf(answer->body, "title"), hint = TextOf(answer->body, "hint");
    return absl::FailedPreconditionError(
        absl::StrCat(title.empty() ? absl::StrCat("web answers with ", answer->status) : title,
                     hint.empty() ? "" : "; next: ", hint));
  }
  return absl::StrCat(address, path, "#k=", key);
}

}  // namespace yard
