#include "launcher/testing/output/print_lines.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>

#include "runtime/mutex.h"

namespace launcher::testing {
namespace {

constexpr int kWaitMillis = 10'000;

}  // namespace

void PrintLines(int fd, std::string_view lines) {
  static auto* const mutex = new runtime::Mutex;
  runtime::MutexLock lock(*mutex);
  while (!lines.empty()) {
    const ssize_t written = write(fd, lines.data(), lines.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) {
      pollfd ready = {.fd = fd, .events = POLLOUT, .revents = 0};
      if (poll(&ready, 1, kWaitMillis) > 0) continue;
    }
    if (written < 0) return;
    lines.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace launcher::testing
