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

// The modes that this machine offers to kill a task's tree. The first call of Get() finds them out;
// they stay true for the life of the launcher. Any thread.
class KillModeReport {
 public:
  using Probe = std::function<std::vector<KillModeOffer>()>;
  explicit KillModeReport(Probe probe = ProbeKillModes) : probe_(std::move(probe)) {}

  // The first call takes as long as ProbeKillModes(), and others wait for it. `chosen` is empty
  // where no mode is offered to a task that asks for none.
  msg::KillModesReplyT Get();

 private:
  const Probe probe_;
  runtime::Mutex mutex_;
  std::optional<std::vector<KillModeOffer>> offers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace launcher

#endif  // LAUNCHER_RUN_KILL_MODE_REPORT_H_
