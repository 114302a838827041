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
#include "launcher/run/tree_mark.h"
#include "runtime/clock.h"
#include "runtime/mutex.h"

namespace launcher {

// An attempt whose program runs.
struct RunningAttempt {
  std::string task;  // "j-abcde/worker-0"
  std::uint32_t number = 0;
  pid_t pid = 0;  // Of its program, a child of its shim.
  std::uint64_t start_ticks = 0;
  std::string folder;  // The attempt's own (docs/launcher.md).
};

// What tasks use: processor time, memory and processes of everything that a task has started and
// that still runs. Measured when somebody asks, by one look at /proc for all tasks together and a
// few small files for each control group; who asks again within `pace` gets the same answer. Any
// thread. Blocks on files of the kernel.
//
// A shim is the subreaper of its task, so all that the task has started is below it, and what it
// has waited for is counted by the kernel. A control group's own account is preferred where there
// is one: it also has what ended unseen, and counts memory once that several processes share.
class UsageMeter {
 public:
  struct Options {
    std::string proc = "/proc";
    runtime::Clock* clock = runtime::Clock::Real();
    absl::Duration pace = absl::Milliseconds(500);
    // Directories of the control groups that only an attempt's processes are in.
    std::function<std::vector<std::string>(const std::string& folder)> cgroups_of =
        [](const std::string& folder) { return ReadTreeMark(folder).cgroups; };
  };
  explicit UsageMeter(Options options);
  UsageMeter() : UsageMeter(Options()) {}

  // Of each of `attempts` that is still there, in their order.
  msg::UsageReplyT Measure(const std::vector<RunningAttempt>& attempts);

 private:
  void Look(const std::vector<RunningAttempt>& attempts) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Options options_;
  const std::uint64_t tick_us_, page_bytes_;
  const std::uint32_t cores_;
  const std::uint64_t memory_bytes_;
  runtime::Mutex mutex_;
  msg::UsageReplyT last_ ABSL_GUARDED_BY(mutex_);
  std::optional<absl::Duration> looked_ ABSL_GUARDED_BY(mutex_);  // By Monotonic().
  // By folder: what Options::cgroups_of said, as far as it keeps accounts.
  std::map<std::string, std::vector<std::string>> cgroups_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace launcher

#endif  // LAUNCHER_RUN_USAGE_METER_H_
