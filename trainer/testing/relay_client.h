#ifndef TRAINER_TESTING_RELAY_CLIENT_H_
#define TRAINER_TESTING_RELAY_CLIENT_H_

#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <optional>
#include <string>
#include <string_view>

#include "runtime/file/unique_fd.h"

namespace trainer {

// The shim's end of the report channel, for tests. Its calls block for 20 s at most.
class RelayClient {
 public:
  explicit RelayClient(const std::string& path)
      : fd_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval deadline{20, 0};
    setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &deadline, sizeof(deadline));
    setsockopt(fd_.get(), SOL_SOCKET, SO_SNDTIMEO, &deadline, sizeof(deadline));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
    connected_ = connect(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  }

  bool connected() const { return connected_; }
  int fd() const { return fd_.get(); }
  // Returns false if the connection is closed.
  bool Send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t count = send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
  }
  // Returns the next line without its newline; nullopt at the end of the connection, where an
  // incomplete line is dropped.
  std::optional<std::string> Line() {
    for (;;) {
      const std::size_t newline = in_.find('\n');
      if (newline != in_.npos) {
        std::string line = in_.substr(0, newline);
        in_.erase(0, newline + 1);
        return line;
      }
      char buffer[65536];
      const ssize_t count = recv(fd_.get(), buffer, sizeof(buffer), 0);
      if (count <= 0) return std::nullopt;
      in_.append(buffer, static_cast<std::size_t>(count));
    }
  }

 private:
  const runtime::UniqueFd fd_;
  bool connected_ = false;
  std::string in_;
};

}  // namespace trainer

#endif  // TRAINER_TESTING_RELAY_CLIENT_H_
