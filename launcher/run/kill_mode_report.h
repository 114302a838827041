#ifndef LAUNCHER_RUN_KILL_MODE_REPORT_H_
#define LAUNCHER_RUN_KILL_MODE_REPORT_H_

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "bus/schema/launcher_generated.h"
#include "launcher/process/kill_modes.h"
#include "runtime/mutex.h"

namespace launcher {

// The modes by which this machine can kill the process tree of a task. The first call of Get()
// probes them; the result is cached for the life of the launcher. Thread-safe.
class KillModeReport {
 public:
  using Probe = std::function<std::vector<KillModeOffer>()>;
  explicit KillModeReport(Probe probe = ProbeKillModes) : probe_(std::move(probe)) {}

  // The first call blocks for as long as ProbeKillModes(), and concurrent calls wait for it.
  // `chosen` is empty if no mode is available to a task that does not ask for one.
  msg::KillModesReplyT Get();

 private:
  const Probe probe_;
  runtime::Mutex mutex_;
  std::optional<std::vector<KillModeOffer>> offers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace launcher

#endif  // LAUNCHER_RUN_KILL_MODE_REPORT_H_
