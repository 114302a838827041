#ifndef LAUNCHER_SHIM_ATTACHED_H_
#define LAUNCHER_SHIM_ATTACHED_H_

#include <sys/types.h>

#include <chrono>
#include <string>

#include "runtime/file/unique_fd.h"

namespace launcher {

// The report relay of a process that no launcher has started (yard-shim --attach). The relay is not
// the parent of that process and never signals it. The first line of the process on the channel is
// the request for the trial (docs/report-channel.md); all others are those of any trial's program.
// (W&B starts such a relay too: wandb-core, through which all messages of the program go.)
struct AttachOptions {
  pid_t pid = 0;  // Must be running; its pidfd reports its end.
  runtime::UniqueFd channel;
  std::string trainer_socket;
  // Time for the process to send the request.
  std::chrono::milliseconds request_limit{60000};
  // Time, after the end of the process, for the trainer to confirm it.
  std::chrono::milliseconds trainer_limit{30000};
  // Time, after the process has closed its channel, to see whether it is ending or has only closed
  // it.
  std::chrono::milliseconds death_after_close{1000};
};

// Forks. In the child it returns the exit code of yard-shim, once the process has ended or finished
// its trial and the trainer has confirmed that. In the caller's process it returns at once:
// kShimDone, or kShimBadSpec if there is nothing to attach to, which is also reported on the
// channel.
int RunAttached(AttachOptions options);

}  // namespace launcher

#endif  // LAUNCHER_SHIM_ATTACHED_H_
