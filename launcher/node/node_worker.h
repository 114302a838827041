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

// The worker process of a node: carries out the orders of a remote launcher (node_words.h) with
// attempts on this host (local_attempt.h), and reports their progress. It may be killed at any
// instant: its attempts go on, and the next worker on its folder re-adopts them. Use on the loop's
// thread.
//
// It keeps FOLDER/attempts/KEY for each attempt, with the files of an attempt (shim_protocol.h),
// `stdout` and `stderr`, until kAcknowledge or kDiscard. A folder with a spec is an attempt that
// the launcher has ordered: the next worker starts its program if that was not done (which the
// shim's `started` file shows). A folder without a spec was being removed, or its files were being
// prepared (attempt_files.h); the launcher then orders the attempt again. FOLDER/work contains
// archives (work_cache.h).
//
// On every new connection the worker sends the state, barrier and end of each attempt that is not
// acknowledged, even if they were received before, since the launcher may be a new one. So its
// memory is bounded by the number of attempts, not by time.
class NodeWorker {
 public:
  // Limit of attempts, including those that have ended and are not acknowledged.
  static constexpr std::size_t kMaxAttempts = 4096;
  static constexpr std::size_t kMaxSpec = 2 << 20;

  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned; outlives the worker.
    // On a disk of this host; created with mode 0700 if it is missing. For the exclusive use of
    // this node.
    std::string folder;
    // Directory of the attempts' sockets; created with mode 0700. At most 70 bytes long, since the
    // path of a socket is limited to 107.
    std::string socket_directory;
    std::string launcher_socket;  // Path of the Unix socket on which the launcher listens.
    // Path of the trainer's socket for shims. If empty, attempts that report cannot be started.
    std::string trainer_socket = {};
    std::string shim_path;
    // The node's stub: when this process ends, all attempts are stopped with SIGTERM. An attempt in
    // the folder that has another owner is killed before the worker connects.
    pid_t owner = 0;
    std::uint64_t owner_start_ticks = 0;
    // The facts about the host and the node for the hello. The worker fills in protocol, boot,
    // user, pid and attempts.
    NodeHello hello = {};
    absl::Duration refused_pause = absl::Seconds(30);  // Wait after a kRefuse.
    // `on_unwanted` is called, with the reason, once a launcher has refused the node for good or
    // none has welcomed it for `patience`. If unset, the node keeps trying.
    absl::Duration patience = absl::InfiniteDuration();
    std::function<void(const std::string& why)> on_unwanted = {};
    // Why this host withdraws the node when Leave() is called; attempts that Leave() stops are then
    // reported as lost, so that they restart elsewhere. If empty, they are reported as stopped.
    std::string taken_by = {};
    AttemptMeter::Gpus gpus = {};  // For the usage of attempts; unset if there are no GPUs.
    std::uint64_t max_cache_bytes = std::uint64_t{4} << 30;  // Limit of cached archives.
  };
  // Re-adopts the attempts in the folder, and keeps a connection until it is destroyed.
  // InvalidArgument if a path is too long for a socket; other errors if a directory cannot be
  // created or used.
  static absl::StatusOr<std::unique_ptr<NodeWorker>> Create(Options options);
  ~NodeWorker();  // The attempts continue to run.
  NodeWorker(const NodeWorker&) = delete;
  NodeWorker& operator=(const NodeWorker&) = delete;

  // Stops all attempts, with SIGTERM and then SIGKILL after `grace`, and starts no others. Calls
  // `done` once: when all have ended and the launcher has acknowledged them, or some seconds later
  // without that. Ends that are not acknowledged stay in the folder.
  void Leave(absl::Duration grace, std::function<void()> done);
  // Number of malformed messages from launchers, which were dropped.
  std::uint64_t bad_words() const;

 private:
  class Impl;
  explicit NodeWorker(std::unique_ptr<Impl> impl);

  const std::unique_ptr<Impl> impl_;
};

}  // namespace launcher

#endif  // LAUNCHER_NODE_NODE_WORKER_H_
