#ifndef LAUNCHER_TESTING_SPEC_RUN_OPTIONS_H_
#define LAUNCHER_TESTING_SPEC_RUN_OPTIONS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace launcher::testing {

// The original's figures. The first is below the 300 s after which Bazel ends a test of medium
// size.
inline constexpr absl::Duration kDefaultTimeout = absl::Seconds(200);
inline constexpr absl::Duration kForceKillWait = absl::Seconds(30);
inline constexpr absl::Duration kChiefCourtesy = absl::Seconds(3);
// Ours: the original restarts for ever.
inline constexpr int kMaxRestarts = 10;

// How the tasks of a cluster are run. The names are the original's.
struct RunOptions {
  // In TF_CONFIG.
  std::string rpc_layer = "grpc";
  // After so long everything that still runs is killed, and nothing is restarted. Zero: no limit.
  absl::Duration max_run_time = absl::InfiniteDuration();
  bool has_time_limit() const {
    return max_run_time != absl::ZeroDuration() && max_run_time != absl::InfiniteDuration();
  }
  // GRPC_FAIL_FAST of the tasks; unset: as it is in this process.
  std::optional<bool> grpc_fail_fast = std::nullopt;
  // Lines of the tasks go to this process's stdout and stderr, with a prefix.
  bool stream_output = true;
  // Lines of the tasks are in the result, up to so many bytes.
  bool return_output = false;
  std::size_t return_output_limit = std::size_t{256} << 20;
  // Children are killed when this process ends, in whatever way. Without it its exit waits for
  // them.
  bool daemon = false;
  // The end of chief-0 ends the run: `chief_courtesy` later the other tasks are killed. (The
  // original gives each of them so long, one after the other.) With auto_restart only a chief that
  // is not restarted any more has ended.
  bool dependence_on_chief = true;
  absl::Duration chief_courtesy = kChiefCourtesy;
  // Tasks that end with another exit code than 0 are started again, up to max_restarts times each
  // (a restart after Terminate() does not count): the first time at once, then after a delay that
  // doubles from 100 ms to 30 s.
  bool auto_restart = false;
  int max_restarts = kMaxRestarts;
  // Without it CUDA_VISIBLE_DEVICES of each worker names devices of its own (GpusOf()). `gpus`: all
  // there are; unset: VisibleGpus().
  bool share_gpu = true;
  std::optional<std::vector<std::string>> gpus = std::nullopt;
  // Between SIGTERM and SIGKILL once the time of Join() is over.
  absl::Duration force_kill_wait = kForceKillWait;
  // Between Terminate() and the kill of a task that does not leave: one that is stopped, or has no
  // memory left.
  absl::Duration terminate_wait = absl::Seconds(1);
  // For the output of a task that has ended, if somebody else still holds it open.
  absl::Duration output_wait = absl::Seconds(1);
  // "NAME=value", over this process's environment.
  std::vector<std::string> environment = {};
};

}  // namespace launcher::testing

#endif  // LAUNCHER_TESTING_SPEC_RUN_OPTIONS_H_
