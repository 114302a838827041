#ifndef LAUNCHER_RUN_USAGE_METER_H_
#define LAUNCHER_RUN_USAGE_METER_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "bus/schema/launcher_generated.h"
#include "launcher/gpu/gpu_meter.h"
#include "launcher/gpu/nvml.h"
#include "launcher/run/tree_mark.h"
#include "runtime/clock.h"
#include "runtime/mutex.h"

namespace launcher {

// An attempt whose program runs.
struct RunningAttempt {
  std::string task;  // "j-abcde/worker-0"
  std::uint32_t number = 0;
  pid_t pid = 0;  // The attempt's program, a child of its shim.
  std::uint64_t start_ticks = 0;
  std::string folder;  // The attempt's folder (docs/launcher.md).
};

// Measures the resource usage of tasks: CPU time, memory, disk I/O and number of processes of all
// that a task has started and that still runs, and its GPUs. Each measurement is made on demand:
// one scan of /proc for all tasks together, and a few small files for each process and control
// group. Calls within `pace` of a measurement return the same figures. Thread-safe. Blocks on files
// of the kernel.
//
// A figure that /proc does not provide and a process that has ended are left out. Byte counts of
// disk I/O never decrease: those of a process that has ended with only the shim to wait for it are
// kept.
//
// The GPUs of a task are those in $CUDA_VISIBLE_DEVICES when its program began; without that
// variable, those on which one of its processes computes, according to the driver.
//
// A shim is the subreaper of its task, so all processes of the task are its descendants, and the
// kernel adds up the CPU time of those that it has waited for. The accounting of a control group is
// preferred if there is one: it also includes processes that ended unobserved, and counts shared
// memory once.
class UsageMeter {
 public:
  struct Options {
    std::string proc = "/proc";
    runtime::Clock* clock = runtime::Clock::Real();
    absl::Duration pace = absl::Milliseconds(500);
    // Returns the directories of the control groups that contain only this attempt's processes.
    std::function<std::vector<std::string>(const std::string& folder)> cgroups_of =
        [](const std::string& folder) { return ReadTreeMark(folder).cgroups; };
    // GpuMeter::Measure(). If unset, no GPUs are reported.
    std::function<GpuMeter::Reply(bool with_processes)> gpus = {};
  };
  explicit UsageMeter(Options options);
  UsageMeter() : UsageMeter(Options()) {}

  // Measures each of `attempts` that still runs, in their order.
  msg::UsageReplyT Measure(const std::vector<RunningAttempt>& attempts);

 private:
  // Cached for an attempt while it runs.
  struct Known {
    std::vector<std::string> cgroups;  // Control groups with accounting.
    std::optional<std::string> visible_gpus;
    bool has_read_environment = false;
    std::uint64_t read_bytes = 0, written_bytes = 0;
  };

  void Look(const std::vector<RunningAttempt>& attempts) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LookAtGroups(Known& known, msg::TaskUsageT& usage) const;
  void LookAtDisks(const std::vector<pid_t>& tree, Known& known, msg::TaskUsageT& usage) const;
  void LookAtGpus(const RunningAttempt& attempt, const std::vector<pid_t>& tree,
                  const GpuFigures& figures, Known& known, msg::TaskUsageT& usage) const;

  const Options options_;
  const std::uint64_t tick_us_, page_bytes_;
  const std::uint32_t cores_;
  const std::uint64_t memory_bytes_;
  runtime::Mutex mutex_;
  msg::UsageReplyT last_ ABSL_GUARDED_BY(mutex_);
  std::optional<absl::Duration> looked_ ABSL_GUARDED_BY(mutex_);  // By Monotonic().
  std::map<std::string, Known> known_ ABSL_GUARDED_BY(mutex_);    // By folder.
};

}  // namespace launcher

#endif  // LAUNCHER_RUN_USAGE_METER_H_
