#ifndef DATAMANAGER_TENSORBOARD_SOCKET_TAKER_H_
#define DATAMANAGER_TENSORBOARD_SOCKET_TAKER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "datamanager/catalog/run_catalog.h"
#include "datamanager/tensorboard/call_threads.h"
#include "datamanager/tensorboard/h2_server.h"
#include "datamanager/tensorboard/server_flags.h"
#include "runtime/coordinator.h"
#include "runtime/event_loop.h"
#include "runtime/file/unique_fd.h"
#include "runtime/timer.h"

namespace datamanager::tensorboard {

// The data manager's side of RUNTIME/tensorboard (socket_packet.h): takes the sockets of data
// servers that would show the same runs, and serves TensorBoard on them in their place, each with
// the flags of its own command line. Files are thus read only once, and no index is shared by two
// processes.
//
// Accepts sockets of this user, from at most kMost givers, if the catalog shows the same: all runs
// of the same directory, scanned at least as often. When a giver has gone, the taker stops
// listening on its sockets but continues to serve the connected clients.
class SocketTaker {
 public:
  static constexpr std::size_t kMost = 16;
  struct Options {
    runtime::EventLoop* loop = nullptr;           // Not owned, like the others.
    runtime::Coordinator* coordinator = nullptr;  // For the threads, which start on demand.
    RunCatalog* catalog = nullptr;
    std::string path = {};           // RUNTIME/tensorboard.
    absl::Duration reload_interval;  // How often the catalog's directories are scanned.
    bool all_runs = true;            // The catalog includes all runs of its directory.
    // Limit for a client that connects and sends nothing.
    absl::Duration patience = absl::Seconds(10);
  };

  // Call this, and the destructor, before the loop runs or on its thread. The destructor waits for
  // the threads; RunCatalog::Stop() makes them end soon. Unavailable names the path.
  static absl::StatusOr<std::unique_ptr<SocketTaker>> Create(Options options);
  ~SocketTaker();
  SocketTaker(const SocketTaker&) = delete;
  SocketTaker& operator=(const SocketTaker&) = delete;

  // Listens again after the socket's file was removed. On the loop's thread.
  absl::Status ListenAgain();
  // Stops serving all givers and tells them so. On the loop's thread.
  void Stop();
  // The number of givers whose sockets it serves. Any thread.
  std::size_t taken() const;

 private:
  using GiverId = std::uint64_t;
  struct Giver {
    runtime::UniqueFd connection;  // Invalid once the giver has gone.
    runtime::EventLoop::WatchId watch = 0;
    runtime::Timer patience;                 // Runs until its packet arrives.
    std::vector<runtime::UniqueFd> sockets;  // Held until they are served.
    std::unique_ptr<H2Server> server;
  };

  explicit SocketTaker(Options options);
  void Listen();
  void ListenNoMore();
  void Accept();
  void Rest();
  void Read(GiverId id);
  void Decide(GiverId id, const ServerFlags& flags, const absl::Status& good);
  void Refuse(GiverId id, const absl::Status& why);
  void GiverIsGone(GiverId id);
  void Forget(GiverId id);

  const Options options_;
  // Expires with the taker; used on the loop's thread only.
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  runtime::UniqueFd listener_;
  runtime::EventLoop::WatchId accepts_ = 0;
  runtime::Timer rest_;
  std::atomic<std::size_t> taken_ = 0;
  std::unique_ptr<CallThreads> threads_;
  std::map<GiverId, Giver> givers_;
  GiverId last_id_ = 0;
};

}  // namespace datamanager::tensorboard

#endif  // DATAMANAGER_TENSORBOARD_SOCKET_TAKER_H_
