#ifndef LAUNCHER_SHIM_LAUNCHER_SOCKETS_H_
#define LAUNCHER_SHIM_LAUNCHER_SOCKETS_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "launcher/shim/poller.h"
#include "launcher/wire/shim_protocol.h"
#include "runtime/file/unique_fd.h"

namespace launcher {

// The launchers that are connected to a shim: one after the other over a long attempt, and others
// that look. Each has the state that it asked for, and the newest one when it changes; a slow one
// misses states between, never the last. Not thread safe.
class LauncherSockets {
 public:
  struct Events {
    // The state as it is now, encoded.
    std::function<std::string()> state;
    // A request; one for the state was answered before. A request of another version comes as one
    // for the state, which says what we speak.
    std::function<void(const ShimRequest& request)> request;
  };
  // `poller` is not owned.
  LauncherSockets(Poller* poller, Events events) : poller_(*poller), events_(std::move(events)) {}

  // Makes the control socket at `path`; false, with `error`, if it cannot be made.
  bool Listen(const std::string& path, std::string* error);
  // Removes it.
  void Unlink();
  // A launcher's connection; not valid: ignored.
  void Add(runtime::UniqueFd socket);

  // Sends the state to all (`phase_changed`), or to those that watch and have another one.
  void Tell(bool phase_changed);
  // A line of the task at a barrier. (A launcher that does not read is broken: it connects again,
  // and asks for the state.)
  void TellBarrier(std::uint64_t number, const std::string& line);

  // False if no launcher is connected, and somebody has removed the control socket or put another
  // one there: then none can come.
  bool CanBeReached() const;

 private:
  struct Launcher {
    runtime::UniqueFd socket;
    bool watches = false;
    std::string sent;  // The state it was sent last.
  };
  void OnReadable(int fd);
  void Remove(int fd);
  void SendState(int fd);

  Poller& poller_;
  const Events events_;
  std::string path_;
  runtime::UniqueFd listener_;
  ino_t inode_ = 0;  // The inode of the socket that listener_ is.
  std::map<int, Launcher> launchers_;
};

// A listening socket at `path` that replaces a stale one; only our user may connect. Not valid: see
// errno.
runtime::UniqueFd ListenAt(const std::string& path, int type);

}  // namespace launcher

#endif  // LAUNCHER_SHIM_LAUNCHER_SOCKETS_H_
