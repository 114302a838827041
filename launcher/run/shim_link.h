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

// The launcher's connection to one live shim. On the loop's thread.
class ShimLink {
 public:
  struct Callbacks {
    std::function<void(const ShimState&)> on_state;
    std::function<void(const ShimBarrier&)> on_barrier = {};
    // The shim's process has ended; nothing is called afterwards. `status` is known if this
    // process has started it. The link may be destroyed in here, and in the others.
    std::function<void(std::optional<runtime::ExitStatus> status)> on_gone;
  };
  // Starts a yard-shim on an attempt's folder. The shim writes its own complaints to
  // FOLDER/shim.log. `locks` as in ShimSpawner::Start().
  static absl::StatusOr<std::unique_ptr<ShimLink>> Start(runtime::EventLoop* loop,
                                                         ShimSpawner* spawner,
                                                         const std::string& folder,
                                                         const std::vector<int>& locks,
                                                         Callbacks callbacks);
  // Finds a running one by its control socket. Unavailable if nobody listens there.
  static absl::StatusOr<std::unique_ptr<ShimLink>> Connect(runtime::EventLoop* loop,
                                                           const std::string& control_socket,
                                                           Callbacks callbacks);
  ~ShimLink();  // The shim goes on.
  ShimLink(const ShimLink&) = delete;
  ShimLink& operator=(const ShimLink&) = delete;

  // A shim that cannot be reached any more is reported by on_gone, so nothing is returned.
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
  bool is_child_ = false;  // We started it.
  runtime::EventLoop::WatchId socket_watch_ = 0;
  runtime::EventLoop::WatchId process_watch_ = 0;
};

}  // namespace launcher

#endif  // LAUNCHER_RUN_SHIM_LINK_H_
