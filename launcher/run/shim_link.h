#ifndef LAUNCHER_RUN_SHIM_LINK_H_
#define LAUNCHER_RUN_SHIM_LINK_H_

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "launcher/run/shim_spawner.h"
#include "launcher/wire/shim_protocol.h"
#include "runtime/event_loop.h"
#include "runtime/file/unique_fd.h"
#include "runtime/process/subprocess.h"

namespace launcher {

// The launcher's connection to one live shim. Use on the loop's thread.
class ShimLink {
 public:
  struct Callbacks {
    std::function<void(const ShimState&)> on_state;
    std::function<void(const ShimBarrier&)> on_barrier = {};
    // The shim's process has ended; no callback follows. `status` is known if this process started
    // the shim. Every callback may destroy the link.
    std::function<void(std::optional<runtime::ExitStatus> status)> on_gone;
  };
  // Starts a yard-shim for an attempt's folder. The shim logs its own errors to FOLDER/shim.log.
  // For `locks` see ShimSpawner::Start().
  static absl::StatusOr<std::unique_ptr<ShimLink>> Start(runtime::EventLoop* loop,
                                                         ShimSpawner* spawner,
                                                         const std::string& folder,
                                                         const std::vector<int>& locks,
                                                         Callbacks callbacks);
  // Connects to a running shim by its control socket. Unavailable if no process listens there.
  static absl::StatusOr<std::unique_ptr<ShimLink>> Connect(runtime::EventLoop* loop,
                                                           const std::string& control_socket,
                                                           Callbacks callbacks);
  ~ShimLink();  // The shim continues to run.
  ShimLink(const ShimLink&) = delete;
  ShimLink& operator=(const ShimLink&) = delete;

  // Sends a request. Returns no error, since on_gone reports a shim that is no longer reachable.
  void Send(const ShimRequest& request);

 private:
  ShimLink(runtime::EventLoop* loop, runtime::UniqueFd socket, Callbacks callbacks);
  void WatchProcess(int pidfd);
  void OnPacket();
  void OnProcessEnded();

  runtime::EventLoop* const loop_;
  runtime::UniqueFd socket_;
  const Callbacks callbacks_;
  runtime::UniqueFd pidfd_;
  bool is_child_ = false;  // The shim is a child of this process.
  runtime::EventLoop::WatchId socket_watch_ = 0;
  runtime::EventLoop::WatchId process_watch_ = 0;
};

}  // namespace launcher

#endif  // LAUNCHER_RUN_SHIM_LINK_H_
