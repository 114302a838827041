#ifndef RUNTIME_LOOPER_THREAD_H_
#define RUNTIME_LOOPER_THREAD_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "runtime/coordinator.h"
#include "runtime/thread.h"

namespace runtime {

// A thread that calls a function repeatedly until its Coordinator stops; re-imagines TensorFlow's
// LooperThread. Any thread may call any method.
//
// An error or exception of a hook stops the Coordinator. After one of `start` or `run`, `stop` is
// not called. If the Coordinator has stopped before the thread begins, `start` and `stop` are
// called and `run` is not.
class LooperThread {
 public:
  struct Options {
    std::string name = "looper";
    // Time between two starts of `run`, on the Coordinator's clock. The first call is immediate.
    // The schedule is absolute: after an overrun, the missed calls follow without a pause. Zero: as
    // fast as possible. Null: back to back, without reading the clock.
    std::optional<absl::Duration> interval = std::nullopt;
    std::function<absl::Status()> run = nullptr;    // Required.
    std::function<absl::Status()> start = nullptr;  // Called once, before the first `run`.
    std::function<absl::Status()> stop = nullptr;   // Called once, after the last `run`.
  };

  // Starts the thread and registers it with `coordinator`. InvalidArgument if `coordinator` or
  // `run` is null, or for a negative interval.
  static absl::StatusOr<std::unique_ptr<LooperThread>> Start(Coordinator* coordinator,
                                                             Options options);

  // May be destroyed while it runs: the thread continues, with its hooks, until the stop.
  ~LooperThread() = default;

  Thread* thread() { return &thread_; }

 private:
  LooperThread(std::string name, std::function<void()> body)
      : thread_(std::move(name), std::move(body)) {}
  Thread thread_;
};

// Calls `function(args...)` every `interval` on a thread of its own until `coordinator` stops.
// `function` returns an absl::Status or void; it and `args` are copied.
template <typename Function, typename... Args>
absl::StatusOr<std::unique_ptr<LooperThread>> Loop(Coordinator* coordinator,
                                                   std::optional<absl::Duration> interval,
                                                   Function function, Args... args) {
  LooperThread::Options options;
  options.interval = interval;
  options.run = [function = std::move(function), ... args = std::move(args)]() mutable {
    if constexpr (std::is_void_v<std::invoke_result_t<Function&, Args&...>>) {
      function(args...);
      return absl::OkStatus();
    } else {
      return function(args...);
    }
  };
  return LooperThread::Start(coordinator, std::move(options));
}

}  // namespace runtime

#endif  // RUNTIME_LOOPER_THREAD_H_
