#ifndef TRAINER_ATTEMPT_ATTACHED_RUNNER_H_
#define TRAINER_ATTEMPT_ATTACHED_RUNNER_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/time/time.h"
#include "runtime/event_loop.h"
#include "trainer/attempt/program_runner.h"

namespace trainer {

// The life of an attempt whose process nobody has launched (docs/report-channel.md): it ends when
// its shim says how, when no shim has been connected for `patience`, and when it is stopped, which
// the process only hears. Nothing here signals it. On the loop's thread.
struct AttachedOptions {
  runtime::EventLoop* loop = nullptr;  // Not owned; outlives it.
  std::int64_t pid = 0;                // For the words.
  absl::Duration patience;
  std::function<void(ProgramEnd)> on_ended;
};
// Launch() and TakeUp() begin the wait for a connection.
std::shared_ptr<ProgramRunner> CreateAttachedRunner(AttachedOptions options);

}  // namespace trainer

#endif  // TRAINER_ATTEMPT_ATTACHED_RUNNER_H_
