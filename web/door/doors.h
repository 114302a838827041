#ifndef WEB_DOOR_DOORS_H_
#define WEB_DOOR_DOORS_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/file/locations.h"
#include "web/http/message.h"
#include "web/http/server.h"

namespace web {

// Where the server listens: always on the socket, and on a port if the page is on.
struct DoorOptions {
  std::string page = "on";
  int port = 0;  // 0: this yard's last port, else kUsualPort, else a free one.
  std::vector<std::string> addresses = {"127.0.0.1", "::1"};
  bool allow_remote = false;
};
inline constexpr int kUsualPort = 7710;

// InvalidArgument explains the error, for example an address that other machines can reach without
// allow_remote.
absl::Status CheckDoors(const DoorOptions& options);

// Returns the path of the socket, in the runtime directory.
std::string SocketOf(const runtime::Locations& locations);

// Starts listening. Records the port in the state directory, so that a browser finds it after a
// restart. Unavailable names the address and the cause.
absl::StatusOr<std::unique_ptr<HttpServer>> OpenDoors(
    const DoorOptions& options, const runtime::Locations& locations,
    std::function<void(Request, std::shared_ptr<Reply>)> handler);

// Returns "http://127.0.0.1:7710/"; empty for port 0.
std::string AddressOf(int port);

}  // namespace web

#endif  // WEB_DOOR_DOORS_H_
