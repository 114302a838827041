#ifndef LAUNCHER_NODE_NODE_WORKER_H_
#define LAUNCHER_NODE_NODE_WORKER_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "launcher/node/attempt_meter.h"
#include "launcher/node/words/node_words.h"
#include "runtime/event_loop.h"

namespace launcher {

// The part of a node that works: carries out the orders of a launcher elsewhere (node_words.h) with
// attempts of this host (local_attempt.h), and tells it what becomes of them. It may be killed at
// any instant: its attempts go on, and the next worker on its folder takes them up. On the loop's
// thread.
//
// It keeps FOLDER/attempts/KEY for each attempt, with the files of an attempt (shim_protocol.h),
// and `stdout` and `stderr`, until kAcknowledge or kDiscard. A folder with a spec stands for an
// attempt that the launcher has ordered: the next worker starts its program if nobody has (the
// shim's `started` file tells). A folder without one is being removed, or its files were being
// prepared (attempt_files.h): then the launcher orders the attempt again. FOLDER/work has archives
// (work_cache.h).
//
// State, barrier and end of each attempt are said on every connection until the attempt is
// acknowledged, whether or not they were heard before: the launcher may be a new one. So what is
// kept is bounded by attempts, not by time.
class NodeWorker {
 public:
  // Attempts of a node, with those that have ended and are not acknowledged.
  static constexpr std::size_t kMaxAttempts = 4096;
  static constexpr std::size_t kMaxSpec = 2 << 20;

  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned; outlives the worker.
    // On a disk of this host; made 0700 if it is missing. Nobody else uses it.
    std::string folder;
    // Directory of the attempts' sockets; made 0700. At most 70 bytes long, as a path of a socket
    // has 107.
    std::string socket_directory;
    std::string launcher_socket;  // Path of the unix socket where the launcher listens.
    // Path at which shims reach the trainer. Empty: an attempt that reports cannot be started.
    std::string trainer_socket = {};
    std::string shim_path;
    // The process with which all attempts end, by SIGTERM: the node's stub. An attempt in the
    // folder that has another owner is killed, and no connection is made before.
    pid_t owner = 0;
    std::uint64_t owner_start_ticks = 0;
    // The facts that are said of the host and of the node. Protocol, boot, user, pid and attempts
    // are the worker's own to say.
    NodeHello hello = {};
    absl::Duration refused_pause = absl::Seconds(30);  // After a kRefuse.
    // `on_unwanted` is called once a launcher has refused the node for good, or when none has
    // welcomed it for so long, for this reason. Unset: the node goes on trying.
    absl::Duration patience = absl::InfiniteDuration();
    std::function<void(const std::string& why)> on_unwanted = {};
    // Why this host takes the node away when Leave() is called: then attempts that it ends are told
    // as lost, so that they begin anew elsewhere. Empty: they are told as stopped.
    std::string taken_by = {};
    AttemptMeter::Gpus gpus = {};  // For the usage of attempts. Unset: it has none.
    std::uint64_t max_cache_bytes = std::uint64_t{4} << 30;  // Archives that are kept.
  };
  // Takes up the attempts in the folder, and connects until it is destroyed. InvalidArgument: a
  // path is too long for a socket. Another error: a directory cannot be made or used.
  static absl::StatusOr<std::unique_ptr<NodeWorker>> Create(Options options);
  ~NodeWorker();  // The attempts go on.
  NodeWorker(const NodeWorker&) = delete;
  NodeWorker& operator=(const NodeWorker&) = delete;

  // Stops all attempts, with SIGTERM and then SIGKILL after `grace`, starts no other, and calls
  // `done` once: when all have ended and the launcher has acknowledged them, or does not within
  // some seconds. The folder keeps what is not acknowledged.
  void Leave(absl::Duration grace, std::function<void()> done);
  // Words of launchers that could not be understood, and were dropped.
  std::uint64_t bad_words() const;

 private:
  class Impl;
  explicit NodeWorker(std::unique_ptr<Impl> impl);

  const std::unique_ptr<Impl> impl_;
};

}  // namespace launcher

#endif  // LAUNCHER_NODE_NODE_WORKER_H_
