#ifndef LAUNCHER_RUN_LOCAL_ATTEMPT_H_
#define LAUNCHER_RUN_LOCAL_ATTEMPT_H_

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
#include "absl/time/time.h"
#include "launcher/process/process_table.h"
#include "launcher/run/attempt.h"
#include "launcher/run/shim_link.h"
#include "launcher/run/shim_spawner.h"
#include "launcher/wire/shim_protocol.h"
#include "runtime/event_loop.h"
#include "runtime/file/unique_fd.h"
#include "runtime/timer.h"

namespace launcher {

// An attempt on this host, under a shim that outlives this process. The shim's `started` file
// guarantees that the program is started at most once.
class LocalAttempt final : public Attempt {
 public:
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned; outlives the attempt.
    ShimSpawner* spawner = nullptr;      // Not owned; outlives the attempt.
    std::string folder;                  // The attempt's folder, which no other attempt uses.
    std::string task_socket, control_socket;
    // Makes the spec when it must be written. The spec is not kept, because it contains a whole
    // environment.
    std::function<ShimSpec()> spec;
    // Opens the descriptors that lock the attempt's resources for as long as one of its processes
    // holds them; called for each shim that is started. Unset if there are no locks.
    std::function<absl::StatusOr<std::vector<runtime::UniqueFd>>()> locks = {};
    // For Adopt(): the process of the attempt, as an earlier launcher has stored it.
    pid_t pid = 0;
    std::uint64_t start_ticks = 0;
    // As in JobTable::Options.
    std::function<void(std::string_view point)> fault = {};
  };
  LocalAttempt(Options options, Callbacks callbacks);
  LocalAttempt(const LocalAttempt&) = delete;
  LocalAttempt& operator=(const LocalAttempt&) = delete;

  // Fails if the attempt's folder or shim cannot be created.
  absl::Status Start() override;
  void Adopt() override;
  void Stop(int signal, absl::Duration grace) override;
  bool Signal(int signal) override;
  void AnswerBarrier(std::uint64_t number, std::string line) override;
  void Acknowledge() override;

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
  runtime::Timer timer_;
};

}  // namespace launcher

#endif  // LAUNCHER_RUN_LOCAL_ATTEMPT_H_
