#ifndef LAUNCHER_SHIM_ATTACHED_H_
#define LAUNCHER_SHIM_ATTACHED_H_

#include <sys/types.h>

#include <chrono>
#include <string>

#include "runtime/file/unique_fd.h"

namespace launcher {

// The relay of a process that no launcher has started (yard-shim --attach): a trial for which this
// process is no parent, and which it never signals. Its first line on the channel is the request
// for the trial (docs/report-channel.md), all others are those of any trial's program. (W&B starts
// such a process too, wandb-core, which the program's messages go through.)
struct AttachOptions {
  pid_t pid = 0;  // It must run; its pidfd tells when it has ended.
  runtime::UniqueFd channel;
  std::string trainer_socket;
  // For the process to send the request.
  std::chrono::milliseconds request_limit{60000};
  // After the end of the process, for the trainer to confirm it.
  std::chrono::milliseconds trainer_limit{30000};
  // After the close of its channel, for the process to end; then it has only closed it.
  std::chrono::milliseconds death_after_close{1000};
};

// Returns, in a process of its own, the exit code of yard-shim, once the process has ended or
// finished its trial and the trainer knows. The caller's process returns kShimDone at once, or
// kShimBadSpec: there is nothing to attach to; then the channel was told.
int RunAttached(AttachOptions options);

}  // namespace launcher

#endif  // LAUNCHER_SHIM_ATTACHED_H_
