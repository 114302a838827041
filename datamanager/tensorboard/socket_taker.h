#ifndef DATAMANAGER_TENSORBOARD_SOCKET_TAKER_H_
#define DATAMANAGER_TENSORBOARD_SOCKET_TAKER_H_

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "datamanager/catalog/run_catalog.h"
#include "runtime/coordinator.h"
#include "runtime/event_loop.h"

namespace datamanager::tensorboard {

// The data manager's side of RUNTIME/tensorboard (socket_packet.h): takes the sockets of data
// servers that are to show the same runs, and serves TensorBoard on them in their place, each with
// the flags that it was started with. Nothing is read twice, and no index has two processes.
//
// It takes what is of this user, up to kMost of them, if it would show the same: all runs of the
// same directory, looked at as often at least. When who gave the sockets is gone it listens on them
// no more, and goes on with those who are connected.
class SocketTaker {
 public:
  static constexpr std::size_t kMost = 16;
  struct Options {
    runtime::EventLoop* loop = nullptr;           // Not owned, as the others.
    runtime::Coordinator* coordinator = nullptr;  // The threads', which begin when they are needed.
    RunCatalog* catalog = nullptr;
    std::string path = {};           // RUNTIME/tensorboard.
    absl::Duration reload_interval;  // How often the catalog's directories are looked at.
    bool all_runs = true;            // The catalog has all that are in its directory.
    absl::Duration patience = absl::Seconds(10);  // For who connects and says nothing.
  };

  // Before the loop runs, or on its thread; so is the destruction, which waits for the threads:
  // RunCatalog::Stop() lets them end soon. Unavailable names the path.
  static absl::StatusOr<std::unique_ptr<SocketTaker>> Create(Options options);
  virtual ~SocketTaker() = default;

  // On the loop's thread. The socket's file is gone.
  virtual absl::Status ListenAgain() = 0;
  // On the loop's thread. Serves nobody any more, who is told so.
  virtual void Stop() = 0;
  // The number of givers whose sockets it serves. Any thread.
  virtual std::size_t taken() const = 0;
};

}  // namespace datamanager::tensorboard

#endif  // DATAMANAGER_TENSORBOARD_SOCKET_TAKER_H_
