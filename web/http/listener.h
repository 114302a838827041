#ifndef WEB_HTTP_LISTENER_H_
#define WEB_HTTP_LISTENER_H_

#include <string>

#include "absl/status/statusor.h"
#include "runtime/file/unique_fd.h"

namespace web {

// Listens on a unix socket for this user only. Replaces a stale socket file; AlreadyExists if a
// process listens on it.
absl::StatusOr<runtime::UniqueFd> ListenOnSocket(const std::string& path);

// Listens on an IPv4 or IPv6 address; port 0 selects a free one. Unavailable names both and the
// cause.
absl::StatusOr<runtime::UniqueFd> ListenOnPort(const std::string& address, int port);

// Returns the port of `listener`.
int PortOf(const runtime::UniqueFd& listener);

// Returns true if the peer of a unix socket is this process's user.
bool IsOwnUser(int connection);

}  // namespace web

#endif  // WEB_HTTP_LISTENER_H_
