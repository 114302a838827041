#include "tools/yard/services/page_client.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <cctype>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"
#include "runtime/file/unique_fd.h"

namespace yard {
namespace {

constexpr int kSeconds = 5;
constexpr std::size_t kMostAnswer = 64 << 10;

// The answer of the web service on its socket, where it knows its caller; the status and the body.
struct Answer {
  int status = 0;
  nlohmann::json body;
};

absl::Status NotThere(const std::string& why) {
  return absl::UnavailableError(absl::StrCat("the web service does not answer: ", why));
}

absl::StatusOr<runtime::UniqueFd> Connect(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return NotThere("the path of its socket is too long");
  memcpy(address.sun_path, path.data(), path.size());
  runtime::UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval patience = {.tv_sec = kSeconds, .tv_usec = 0};
  setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  if (!fd.valid() ||
      connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return NotThere(absl::StrCat(path, ": ", strerror(errno)));
  }
  return fd;
}

absl::StatusOr<Answer> Post(const runtime::Locations& locations, const std::string& target) {
  auto fd = Connect(locations.runtime_directory + "/http");
  if (!fd.ok()) return fd.status();
  const std::string request =
      absl::StrCat("POST ", target,
                   " HTTP/1.0\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                   "Content-Length: 2\r\n\r\n{}");
  if (send(fd->get(), request.data(), request.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(request.size())) {
    return NotThere(strerror(errno));
  }
  std::string text;
  char buffer[4096];
  ssize_t got = 0;
  while (text.size() < kMostAnswer && (got = recv(fd->get(), buffer, sizeof buffer, 0)) > 0) {
    text.append(buffer, static_cast<std::size_t>(got));
  }
  if (got < 0) return NotThere(strerror(errno));
  Answer answer;
  constexpr std::string_view kEnd = "\r\n\r\n";
  const std::size_t head = text.find(kEnd);
  if (sscanf(text.c_str(), "HTTP/1.%*d %d", &answer.status) != 1 || head == std::string::npos) {
    return NotThere("what it says is no HTTP");
  }
  answer.body = nlohmann::json::parse(text.substr(head + kEnd.size()), nullptr,
                                      /*allow_exceptions=*/false);
  if (!answer.body.is_object()) return NotThere("what it says is no JSON");
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
