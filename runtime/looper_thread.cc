#include "runtime/looper_thread.h"

#include "absl/strings/str_cat.h"
#include "runtime/clock.h"

namespace runtime {
namespace {

absl::Status CallIfGiven(const std::function<absl::Status()>& hook) {
  return hook ? hook() : absl::OkStatus();
}

absl::Status RunBackToBack(const Coordinator& coordinator,
                           const std::function<absl::Status()>& run) {
  while (!coordinator.ShouldStop()) {
    if (absl::Status status = run(); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status RunEvery(absl::Duration interval, Coordinator& coordinator,
                      const std::function<absl::Status()>& run) {
  absl::Duration next = coordinator.clock()->Monotonic();
  while (!coordinator.WaitForStopUntil(next)) {
    next += interval;
    if (absl::Status status = run(); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status RunHooks(Coordinator& coordinator, const LooperThread::Options& options) {
  if (absl::Status status = CallIfGiven(options.start); !status.ok()) return status;
  absl::Status status = options.interval.has_value()
                            ? RunEvery(*options.interval, coordinator, options.run)
                            : RunBackToBack(coordinator, options.run);
  if (!status.ok()) return status;
  return CallIfGiven(options.stop);
}

}  // namespace

absl::StatusOr<std::unique_ptr<LooperThread>> LooperThread::Start(Coordinator* coordinator,
                                                                  Options options) {
  if (coordinator == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("looper ", options.name, " has no coordinator"));
  }
  if (!options.run) {
    return absl::InvalidArgumentError(absl::StrCat("looper ", options.name, " has nothing to run"));
  }
  if (options.interval.value_or(absl::ZeroDuration()) < absl::ZeroDuration()) {
    return absl::InvalidArgumentError(
        absl::StrCat("looper ", options.name, " has a negative interval"));
  }
  std::string name = options.name;
  auto looper = std::unique_ptr<LooperThread>(new LooperThread(
      std::move(name), [coordinator = coordinator->Share(), options = std::move(options)] {
        coordinator->StopOnError([&] { return RunHooks(*coordinator, options); });
      }));
  coordinator->RegisterThread(looper->thread());
  return looper;
}

}  // namespace runtime
