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

// The connections of launchers to a shim: successive launchers over a long attempt, and observers.
// Each gets the state when it asks for it, and the newest state after a change; a slow one may miss
// states in between but never the last. Not thread-safe.
class LauncherSockets {
 public:
  struct Events {
    // Returns the present state, encoded.
    std::function<std::string()> state;
    // Called for each request, after a request for the state was answered. A request of an unknown
    // version arrives here as a request for the state, whose answer names the shim's version.
    std::function<void(const ShimRequest& request)> request;
  };
  // `poller` is not owned.
  LauncherSockets(Poller* poller, Events events) : poller_(*poller), events_(std::move(events)) {}

  // Creates the control socket at `path`; returns false, with `error` set, if that fails.
  bool Listen(const std::string& path, std::string* error);
  // Removes the control socket.
  void Unlink();
  // Adds a launcher's connection; ignores an invalid descriptor.
  void Add(runtime::UniqueFd socket);

  // Sends the state to all launchers (`phase_changed`), or to those that watch and have an older
  // one.
  void Tell(bool phase_changed);
  // Sends the task's line at a barrier to the launchers. (It is not resent if a socket is full: a
  // launcher that does not read is broken, and asks for the state when it reconnects.)
  void TellBarrier(std::uint64_t number, const std::string& line);

  // False if no launcher is connected and none can connect, because the control socket was removed
  // or replaced.
  bool CanBeReached() const;

 private:
  struct Launcher {
    runtime::UniqueFd socket;
    bool watches = false;
    std::string sent;  // The state that was last sent to it.
  };
  void OnReadable(int fd);
  void Remove(int fd);
  void SendState(int fd);

  Poller& poller_;
  const Events events_;
  std::string path_;
  runtime::UniqueFd listener_;
  ino_t inode_ = 0;  // Inode of the control socket that belongs to listener_.
  std::map<int, Launcher> launchers_;
};

// Opens a listening socket at `path`, and replaces a stale one; only our user may connect. After an
// error the descriptor is invalid and errno is set.
runtime::UniqueFd ListenAt(const std::string& path, int type);

}  // namespace launcher

#endif  // LAUNCHER_SHIM_LAUNCHER_SOCKETS_H_
