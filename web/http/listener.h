#ifndef WEB_HTTP_LISTENER_H_
#define WEB_HTTP_LISTENER_H_

#include <string>

#include "absl/status/statusor.h"
#include "runtime/file/unique_fd.h"

namespace web {

// Listens on a unix socket that only this user may use. A socket file that nobody listens on is
// replaced; AlreadyExists names a file that a process listens on.
absl::StatusOr<runtime::UniqueFd> ListenOnSocket(const std::string& path);

// Listens on an IPv4 or IPv6 address; port 0 takes a free one. Unavailable names both and why not.
absl::StatusOr<runtime::UniqueFd> ListenOnPort(const std::string& address, int port);

// The port that `listener` is on.
int PortOf(const runtime::UniqueFd& listener);

// Whether the other end of a unix socket is this process's user.
bool IsOwnUser(int connection);

}  // namespace web

#endif  // WEB_HTTP_LISTENER_H_
