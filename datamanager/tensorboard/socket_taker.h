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
  ~SocketTaker();
  SocketTaker(const SocketTaker&) = delete;
  SocketTaker& operator=(const SocketTaker&) = delete;

  // On the loop's thread. The socket's file is gone.
  absl::Status ListenAgain();
  // On the loop's thread. Stops serving all givers and tells them so.
  void Stop();
  // The number of givers whose sockets it serves. Any thread.
  std::size_t taken() const;

 private:
  using GiverId = std::uint64_t;
  struct Giver {
    runtime::UniqueFd connection;  // Not valid: it is gone.
    runtime::EventLoop::WatchId watch = 0;
    runtime::Timer patience;                 // Set until its packet has come.
    std::vector<runtime::UniqueFd> sockets;  // Until they are served.
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
  // Expires with the taker; looked at on the loop's thread only.
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
