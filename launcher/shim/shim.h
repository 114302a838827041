#ifndef LAUNCHER_SHIM_SHIM_H_
#define LAUNCHER_SHIM_SHIM_H_

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launcher/shim/task_tree.h"
#include "runtime/file/unique_fd.h"

namespace launcher {

// Runs one yard-shim: the parent and subreaper of one attempt of a task (docs/launcher.md;
// re-imagines containerd's shim). It has one thread and never blocks on another process or the
// disk: not on the launcher, not on the trainer.
struct ShimOptions {
  TreeHost host;  // The result of LookAtHost().
  // Time, after the main process has ended, for other processes of its tree to close the output.
  std::chrono::milliseconds drain{2000};
  // Time to wait for processes that cannot be killed (blocked in the kernel); after it the shim
  // reports the end without them.
  std::chrono::milliseconds kill_limit{5000};
  // Time, after the end of the task, for the trainer to confirm it.
  std::chrono::milliseconds trainer_limit{30000};
  // Time, after the end of the task, for the launcher to acknowledge it. The exit file remains.
  std::chrono::milliseconds lease{600000};
  // Interval at which the shim checks meanwhile whether a launcher can still connect: no longer
  // once the control socket was removed and no launcher is connected.
  std::chrono::milliseconds reach_round{2000};
};

struct ShimAttempt {
  std::string folder;  // The attempt's folder, which contains its spec.
  runtime::UniqueFd
      // A connected SEQPACKET socket to the launcher that started the shim; may be invalid.
      control;
  // Lock descriptors, kept open here and in the task until no process of the task is left.
  std::vector<runtime::UniqueFd> locks = {};
};
// Called once, after the preparations that are the same for every attempt; may block. Returns the
// attempt to run, or nullopt to end the shim.
using AwaitAttempt = std::function<std::optional<ShimAttempt>()>;

// Runs the shim until it ends; returns the exit code of yard-shim (shim_protocol.h).
int RunShim(const ShimOptions& options, const AwaitAttempt& await_attempt);

}  // namespace launcher

#endif  // LAUNCHER_SHIM_SHIM_H_
