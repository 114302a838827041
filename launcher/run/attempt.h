#ifndef LAUNCHER_RUN_ATTEMPT_H_
#define LAUNCHER_RUN_ATTEMPT_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "launcher/process/process_table.h"
#include "launcher/run/shim_link.h"
#include "launcher/run/shim_spawner.h"
#include "launcher/wire/shim_protocol.h"
#include "runtime/event_loop.h"
#include "runtime/file/unique_fd.h"

namespace launcher {

// How an attempt ended.
struct AttemptEnd {
  ShimState state;    // Exit status and final offsets; as far as known if there was no witness.
  bool lost = false;  // Nobody saw its end.
  // The shim was gone before the program ended; what was left of it has been killed.
  bool shim_lost = false;
  std::string how;  // In words: "exit code 3", "the shim was killed (signal 9)".
  bool success() const;
};

// One attempt of a task, from the launcher's side: starts its shim, or finds it again after a
// restart of the launcher, and tells what becomes of it. Whichever process is killed at whatever
// moment, the program is started at most once (the shim's `started` file), and on_over comes
// exactly once, with no process of the attempt left. On the loop's thread.
class Attempt {
 public:
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned; outlives the attempt.
    ShimSpawner* spawner = nullptr;      // The same.
    std::string folder;                  // The attempt's own.
    std::string task_socket, control_socket;
    // Made when it is to be written, and not kept: it holds a whole environment.
    std::function<ShimSpec()> spec;
    // Descriptors that keep the attempt's resources from others as long as a process of it has
    // them; made anew for each shim that is started. Unset: none.
    std::function<absl::StatusOr<std::vector<runtime::UniqueFd>>()> locks = {};
    // The stored process of an earlier launcher's attempt.
    pid_t pid = 0;
    std::uint64_t start_ticks = 0;
    // As in JobTable::Options.
    std::function<void(std::string_view point)> fault = {};
  };
  struct Callbacks {
    std::function<void(const ShimState&)> on_running;  // Once, before any other.
    std::function<void()> on_ready = {};               // Once at most: it has said so.
    std::function<void(const ShimState&)> on_output;   // The log files have grown.
    // The program is at a barrier: answer with AnswerBarrier(). Called again in a new launcher.
    std::function<void(const ShimBarrier&)> on_barrier = {};
    std::function<void(const AttemptEnd&)> on_over;  // Store it, then Acknowledge().
    std::function<void()> on_left;  // After Acknowledge(): the shim is gone too. Last.
  };
  // None of the callbacks may destroy the attempt: post that to the loop.
  Attempt(Options options, Callbacks callbacks);
  ~Attempt();
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  // A new attempt. An error if its folder or shim cannot be made: then nothing runs.
  absl::Status Start();
  // An attempt that an earlier launcher has, or may have, started.
  void Adopt();
  void Stop(int signal, absl::Duration grace);
  // To its process group, and nothing more. False if nobody is there to do it.
  bool Signal(int signal);
  void AnswerBarrier(std::uint64_t number, std::string line);
  // Call this once the end is stored: lets the shim go. Also for an attempt that an earlier
  // launcher has seen end, without Adopt(): its spec is still there if that launcher did not come
  // to this call.
  void Acknowledge();
  static bool IsAcknowledged(const std::string& folder);

 private:
  void Fault(std::string_view point) const {
    if (options_.fault) options_.fault(point);
  }
  absl::Status StartShim();
  ShimLink::Callbacks LinkCallbacks();
  void OnState(const ShimState& state);
  void OnGone(std::optional<runtime::ExitStatus> status);
  bool TryConnect();
  void Resolve();
  void Retry();
  void KillOrphans();
  void RemoveSockets();
  void Finish(AttemptEnd end);
  void Leave();

  const Options options_;
  const Callbacks callbacks_;
  std::unique_ptr<ShimLink> link_;
  ShimState state_;
  std::string lost_how_;
  bool running_ = false;
  bool ready_ = false;
  bool seen_alive_ = false;
  bool over_ = false;
  bool acknowledged_ = false;
  int tries_ = 0;
  runtime::EventLoop::TimerId timer_ = 0;
};

}  // namespace launcher

#endif  // LAUNCHER_RUN_ATTEMPT_H_
