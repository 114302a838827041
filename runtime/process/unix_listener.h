#ifndef RUNTIME_PROCESS_UNIX_LISTENER_H_
#define RUNTIME_PROCESS_UNIX_LISTENER_H_

#include <sys/un.h>

#include <string>

#include "absl/status/statusor.h"
#include "runtime/file/unique_fd.h"

namespace runtime {

// Returns the address of the unix socket at `path`. InvalidArgument if the path has more than 107
// bytes. Any thread.
absl::StatusOr<sockaddr_un> UnixAddress(const std::string& path);

// Returns a non-blocking socket that listens for stream connections at `path`, for our user only
// (mode 0600). Replaces a socket file that an earlier process left there. At most `waiting`
// connections queue until they are accepted. InvalidArgument: see UnixAddress(). Unavailable names
// the failed step and the path. Any thread.
absl::StatusOr<UniqueFd> ListenAtPath(const std::string& path, int waiting);

}  // namespace runtime

#endif  // RUNTIME_PROCESS_UNIX_LISTENER_H_
