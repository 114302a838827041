#include "web/door/doors.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "runtime/file/file.h"

namespace web {
namespace {

constexpr int kMostPort = 65'535;
constexpr std::size_t kMaxPortFile = 64;

bool IsOfThisMachine(const std::string& address) {
  return absl::StartsWith(address, "127.") || address == "::1";
}

std::string PortFile(const runtime::Locations& locations) {
  return locations.state_directory + "/web.port";
}

// Returns the ports to try, in order.
std::vector<int> Ports(int wanted, const runtime::Locations& locations) {
  if (wanted != 0) return {wanted};
  std::vector<int> ports;
  int noted = 0;
  const auto text = runtime::ReadFile(PortFile(locations), kMaxPortFile);
  if (text.ok() && absl::SimpleAtoi(absl::StripAsciiWhitespace(*text), &noted) && noted > 0 &&
      noted <= kMostPort) {
    ports.push_back(noted);
  }
  ports.push_back(kUsualPort);
  ports.push_back(0);
  return ports;
}

}  // namespace

absl::Status CheckDoors(const DoorOptions& options) {
  if (options.page != "on" && options.page != "off") {
    return absl::InvalidArgumentError(
        absl::StrCat("--page is ", options.page, "; it must be on or off"));
  }
  if (options.port < 0 || options.port > kMostPort) {
    return absl::InvalidArgumentError(
        absl::StrCat("--port is ", options.port, "; it must be from 0 to ", kMostPort));
  }
  if (options.addresses.empty()) {
    return absl::InvalidArgumentError("--address is empty; without a port: --page=off");
  }
  for (const std::string& address : options.addresses) {
    if (!IsOfThisMachine(address) && !options.allow_remote) {
      return absl::InvalidArgumentError(
          absl::StrCat("--address is ", address,
                       ", which other machines may reach, and there is "
                       "no TLS; where only this machine can: --allow_remote"));
    }
  }
  return absl::OkStatus();
}

std::string SocketOf(const runtime::Locations& locations) {
  return locations.runtime_directory + "/http";
}

absl::StatusOr<std::unique_ptr<HttpServer>> OpenDoors(
    const DoorOptions& options, const runtime::Locations& locations,
    std::function<void(Request, std::shared_ptr<Reply>)> handler) {
  HttpServer::Options server{.socket = SocketOf(locations), .handler = std::move(handler)};
  if (options.page == "off") return HttpServer::Start(std::move(server));
  server.addresses = options.addresses;
  absl::Status why;
  for (const int port : Ports(options.port, locations)) {
    server.port = port;
    auto started = HttpServer::Start(server);
    if (started.ok()) {
      const absl::Status noted = runtime::WriteFileAtomically(
          PortFile(locations), absl::StrCat((*started)->port(), "\n"), 0600);
      LOG_IF(WARNING, !noted.ok()) << "the port is not noted: " << noted;
      return started;
    }
    why = started.status();
  }
  return why;
}

std::string AddressOf(int port) {
  return port == 0 ? "" : absl::StrCat("http://127.0.0.1:", port, "/");
}

}  // namespace web
