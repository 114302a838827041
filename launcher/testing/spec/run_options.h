#ifndef LAUNCHER_TESTING_SPEC_RUN_OPTIONS_H_
#define LAUNCHER_TESTING_SPEC_RUN_OPTIONS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace launcher::testing {

// The defaults of the original. The first is below the 300 s after which Bazel ends a test of
// medium size.
inline constexpr absl::Duration kDefaultTimeout = absl::Seconds(200);
inline constexpr absl::Duration kForceKillWait = absl::Seconds(30);
inline constexpr absl::Duration kChiefCourtesy = absl::Seconds(3);
// Not in the original, which restarts for ever.
inline constexpr int kMaxRestarts = 10;

// The options for running the tasks of a cluster. The names are those of the original.
struct RunOptions {
  // The value in TF_CONFIG.
  std::string rpc_layer = "grpc";
  // After this time all tasks that still run are killed, and none is restarted. Zero for no limit.
  absl::Duration max_run_time = absl::InfiniteDuration();
  bool has_time_limit() const {
    return max_run_time != absl::ZeroDuration() && max_run_time != absl::InfiniteDuration();
  }
  // GRPC_FAIL_FAST of the tasks; if unset, that of this process.
  std::optional<bool> grpc_fail_fast = std::nullopt;
  // The tasks' lines are written to this process's stdout and stderr, with a prefix.
  bool stream_output = true;
  // The tasks' lines are in the result, up to the limit in bytes.
  bool return_output = false;
  std::size_t return_output_limit = std::size_t{256} << 20;
  // Children are killed when this process ends, however it ends. Otherwise the exit of this process
  // waits for them.
  bool daemon = false;
  // The end of chief-0 ends the run: the other tasks are killed after `chief_courtesy`. (The
  // original waits that long for each of them in turn.) With auto_restart, a chief counts as ended
  // only when it is not restarted any more.
  bool dependence_on_chief = true;
  absl::Duration chief_courtesy = kChiefCourtesy;
  // Tasks that end with an exit code other than 0 are restarted, up to max_restarts times each (a
  // restart after Terminate() does not count): the first time at once, then after a delay that
  // doubles from 100 ms to 30 s.
  bool auto_restart = false;
  int max_restarts = kMaxRestarts;
  // If false, CUDA_VISIBLE_DEVICES of each worker names devices of its own (GpusOf()). `gpus` lists
  // all devices; if unset, VisibleGpus().
  bool share_gpu = true;
  std::optional<std::vector<std::string>> gpus = std::nullopt;
  // Time between SIGTERM and SIGKILL after the time-out of Join().
  absl::Duration force_kill_wait = kForceKillWait;
  // Time between Terminate() and the kill of a task that does not end, because it is stopped or out
  // of memory.
  absl::Duration terminate_wait = absl::Seconds(1);
  // Time for the output of an ended task to be closed, if another process still holds it open.
  absl::Duration output_wait = absl::Seconds(1);
  // "NAME=value"; overrides this process's environment.
  std::vector<std::string> environment = {};
};

}  // namespace launcher::testing

#endif  // LAUNCHER_TESTING_SPEC_RUN_OPTIONS_H_
