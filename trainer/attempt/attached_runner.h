#ifndef TRAINER_ATTEMPT_ATTACHED_RUNNER_H_
#define TRAINER_ATTEMPT_ATTACHED_RUNNER_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/time/time.h"
#include "runtime/event_loop.h"
#include "trainer/attempt/program_runner.h"

namespace trainer {

// Runs an attempt whose process the launcher did not start (docs/report-channel.md). The attempt
// ends when its shim reports how the process ended, when no shim has been connected for `patience`,
// or when it is stopped. A stop only reaches the process as an answer: nothing here sends signals.
// Use it on the loop's thread.
struct AttachedOptions {
  runtime::EventLoop* loop = nullptr;  // Not owned; outlives it.
  std::int64_t pid = 0;                // For messages only.
  absl::Duration patience;
  std::function<void(ProgramEnd)> on_ended;
};
// Launch() and TakeUp() start waiting for a connection.
std::shared_ptr<ProgramRunner> CreateAttachedRunner(AttachedOptions options);

}  // namespace trainer

#endif  // TRAINER_ATTEMPT_ATTACHED_RUNNER_H_
