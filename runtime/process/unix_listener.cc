#include "runtime/process/unix_listener.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace runtime {

absl::StatusOr<sockaddr_un> UnixAddress(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return absl::InvalidArgumentError(absl::StrCat("the path of the socket ", path, " has ",
                                                   path.size(), " bytes (at most ",
                                                   sizeof address.sun_path - 1, ")"));
  }
  std::memcpy(address.sun_path, path.c_str(), path.size());
  return address;
}

absl::StatusOr<UniqueFd> ListenAtPath(const std::string& path, int waiting) {
  const auto address = UnixAddress(path);
  if (!address.ok()) return address.status();
  const auto failed = [&](const char* verb) {
    return absl::UnavailableError(
        absl::StrCat("cannot ", verb, " ", path, ": ", std::strerror(errno)));
  };
  if (unlink(path.c_str()) != 0 && errno != ENOENT) return failed("remove the old socket");
  UniqueFd listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener.valid()) return failed("make the socket");
  if (bind(listener.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0) {
    return failed("bind");
  }
  if (chmod(path.c_str(), 0600) != 0) return failed("protect");
  if (listen(listener.get(), waiting) != 0) return failed("listen on");
  return listener;
}

}  // namespace runtime
