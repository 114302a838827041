#ifndef RUNTIME_PROCESS_UNIX_LISTENER_H_
#define RUNTIME_PROCESS_UNIX_LISTENER_H_

#include <sys/un.h>

#include <string>

#include "absl/status/statusor.h"
#include "runtime/file/unique_fd.h"

namespace runtime {

// The address of the unix socket at `path`. InvalidArgument: the path has more than 107 bytes. Any
// thread.
absl::StatusOr<sockaddr_un> UnixAddress(const std::string& path);

// Listens for stream connections at `path`, for our user alone (0600). A socket that an earlier
// process has left there is removed. `waiting` connections at most may wait until they are
// accepted. The descriptor does not block. InvalidArgument: as of UnixAddress(); Unavailable: the
// error names the step that has failed, and the path. Any thread.
absl::StatusOr<UniqueFd> ListenAtPath(const std::string& path, int waiting);

}  // namespace runtime

#endif  // RUNTIME_PROCESS_UNIX_LISTENER_H_
