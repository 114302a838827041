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
// Accepts sockets of this user, from at most kMost givers, if the catalog would show the same: all
// runs of the same directory, scanned at least as often. When the giver has gone, the taker stops
// listening on its sockets and goes on with the connected clients.
class SocketTaker {
 public:
  static constexpr std::size_t kMost = 16;
  struct Options {
    runtime::EventLoop* loop = nullptr;           // Not owned, as the others.
    runtime::Coordinator* coordinator = nullptr;  // For the threads, which start when needed.
    RunCatalog* catalog = nullptr;
    std::string path = {};           // RUNTIME/tensorboard.
    absl::Duration reload_interval;  // How often the catalog's directories are looked at.
    bool all_runs = true;            // The catalog has all runs in its directory.
    absl::Duration patience = absl::Seconds(10);  // For a client that connects and sends nothing.
  };

  // Call this, and the destructor, before the loop runs or on its thread. The destructor waits for
  // the threads: RunCatalog::Stop() lets them end soon. Unavailable names the path.
  static absl::StatusOr<std::unique_ptr<SocketTaker>> Create(Options options);
  virtual ~SocketTaker() = default;

  // On the loop's thread. The socket's file is gone.
  virtual absl::Status ListenAgain() = 0;
  // On the loop's thread. Stops serving all givers and tells them so.
  virtual void Stop() = 0;
  // The number of givers whose sockets it serves. Any thread.
  virtual std::size_t taken() const = 0;
};

}  // namespace datamanager::tensorboard

#endif  // DATAMANAGER_TENSORBOARD_SOCKET_TAKER_H_
