#include "bus/thread/connection_limit.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "bus/thread/tcp_door.h"
#include "glog/logging.h"
#include "runtime/file/unique_fd.h"
#include "runtime/mutex.h"

namespace bus {
namespace {

// Lives as long as the process.
class Limit {
 public:
  static Limit& OfThisProcess() {
    static auto* const limit = new Limit;
    return *limit;
  }

  void Add(const std::string& path) {
    const runtime::MutexLock lock(mutex_);
    paths_.insert(path);
    if (!spare_.valid()) OpenSpare();
  }

  bool IsFor(int listener) {
    sockaddr_un address = {};
    socklen_t size = sizeof(address) - 1;  // The last byte stays NUL.
    if (getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) != 0) return false;
    const runtime::MutexLock lock(mutex_);
    return address.sun_family == AF_UNIX && paths_.contains(address.sun_path);
  }

  // Accepts and closes a connection when no descriptor is free. Otherwise the connection would stay
  // in the backlog, and the listener would be readable again at once.
  void TakeAndClose(int listener) {
    const runtime::MutexLock lock(mutex_);
    spare_.reset();
    runtime::UniqueFd(Accept(listener)).reset();
    OpenSpare();
  }

  static int Accept(int listener, sockaddr* address = nullptr, socklen_t* size = nullptr,
                    int flags = SOCK_CLOEXEC) {
    return static_cast<int>(syscall(SYS_accept4, listener, address, size, flags));
  }

 private:
  void OpenSpare() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    spare_ = runtime::UniqueFd(open("/dev/null", O_RDONLY | O_CLOEXEC));
  }

  runtime::Mutex mutex_;
  std::set<std::string> paths_ ABSL_GUARDED_BY(mutex_);
  runtime::UniqueFd spare_ ABSL_GUARDED_BY(mutex_);
};

// The kernel assigns the lowest free number, so a high number means that few are free.
bool IsAmongTheLast(int fd) {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return false;
  // (A process with a low limit reserves fewer.)
  const rlim_t spare = std::min<rlim_t>(kSpareDescriptors, limit.rlim_cur / 16);
  return static_cast<rlim_t>(fd) + spare >= limit.rlim_cur;
}

// Makes accept fail as if the peer had disconnected first.
int Refused() {
  LOG_EVERY_T(WARNING, 60) << "a connection was refused: this process has too few descriptors left";
  errno = ECONNABORTED;
  return -1;
}

}  // namespace

void LimitConnectionsTo(const std::string& path) { Limit::OfThisProcess().Add(path); }

}  // namespace bus

// Replaces the C library's accept4() for the whole process; behaves differently for sockets of the
// bus only.
extern "C" __attribute__((visibility("default"))) int accept4(int listener, sockaddr* address,
                                                              socklen_t* size, int flags) {
  auto& limit = bus::Limit::OfThisProcess();
  runtime::UniqueFd fd(bus::Limit::Accept(listener, address, size, flags));
  const int error = errno;
  auto& door = bus::TcpDoor::OfThisProcess();
  if (fd.valid()) {
    const bool is_guarded = door.Guards(listener);
    if (bus::IsAmongTheLast(fd.get()) && (is_guarded || limit.IsFor(listener))) {
      fd.reset();
      return bus::Refused();
    }
    if (!is_guarded || door.LetIn(fd.get())) return fd.release();
    errno = ECONNABORTED;
    return -1;
  }
  if ((error == EMFILE || error == ENFILE) && (limit.IsFor(listener) || door.Guards(listener))) {
    limit.TakeAndClose(listener);
    return bus::Refused();
  }
  errno = error;
  return -1;
}
