#include "runtime/process/supervisor_notice.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "runtime/file/unique_fd.h"
#include "runtime/text/string_view.h"

namespace runtime {

absl::Status NotifySupervisor(std::string_view state) {
  const char* const variable = std::getenv("NOTIFY_SOCKET");
  if (variable == nullptr || *variable == '\0') return absl::OkStatus();
  const std::string_view name = variable;
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if ((name[0] != '/' && name[0] != '@') || name.size() >= sizeof address.sun_path) {
    return absl::InvalidArgumentError(
        absl::StrCat("NOTIFY_SOCKET is no address of a unix socket: ", variable));
  }
  std::memcpy(address.sun_path, name.data(), name.size());
  if (name[0] == '@') address.sun_path[0] = '\0';
  const UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  if (!socket.valid() || sendto(socket.get(), state.data(), state.size(), MSG_NOSIGNAL,
                                reinterpret_cast<const sockaddr*>(&address), size) < 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("telling ", variable, " ", Absl(state)));
  }
  return absl::OkStatus();
}

}  // namespace runtime
