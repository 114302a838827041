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

// The life of one yard-shim: parent and subreaper of one attempt of a task (see
// docs/launcher.md; re-imagines containerd's shim). It has one thread and never waits for
// anybody: not for the launcher, not for the trainer, not for the disk.
struct ShimOptions {
  TreeHost host;  // As LookAtHost() has found it.
  // After the main process has ended, for others of its tree that still hold the output.
  std::chrono::milliseconds drain{2000};
  // For processes that cannot be killed (in the kernel); then it reports without them.
  std::chrono::milliseconds kill_limit{5000};
  // After the end of the task, for the trainer to confirm it.
  std::chrono::milliseconds trainer_limit{30000};
  // After the end of the task, for the launcher's acknowledgement. The exit file stays.
  std::chrono::milliseconds lease{600000};
  // Between two looks, meanwhile, whether a launcher can still come: not once the control socket is
  // gone and nobody is connected.
  std::chrono::milliseconds reach_round{2000};
};

struct ShimAttempt {
  std::string folder;  // With its spec file.
  runtime::UniqueFd
      control;  // A connected SEQPACKET socket to the launcher that started it; or none.
  // Kept open, here and in the task, until no process of the task is left.
  std::vector<runtime::UniqueFd> locks = {};
};
// Called once, when everything is made that is the same for every attempt. Returns the attempt to
// run, or nothing to end the shim.
using AwaitAttempt = std::function<std::optional<ShimAttempt>()>;

// Runs to the end; returns the exit code of yard-shim (shim_protocol.h).
int RunShim(const ShimOptions& options, const AwaitAttempt& await_attempt);

}  // namespace launcher

#endif  // LAUNCHER_SHIM_SHIM_H_
