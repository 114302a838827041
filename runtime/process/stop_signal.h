#ifndef RUNTIME_PROCESS_STOP_SIGNAL_H_
#define RUNTIME_PROCESS_STOP_SIGNAL_H_

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "runtime/event_loop.h"

namespace runtime {

// Turns SIGTERM and SIGINT into calls on the event loop.
class StopSignal {
 public:
  // Blocks SIGTERM and SIGINT (and ignores SIGPIPE) in the calling thread and all threads that it
  // starts. Call it in main() before any other thread exists.
  static absl::Status BlockInThisThread();

  // `first` runs at the first signal, `again` at every later one (stop at once). Call
  // BlockInThisThread() first. The loop must outlive the StopSignal.
  static absl::StatusOr<std::unique_ptr<StopSignal>> Create(EventLoop* loop,
                                                            std::function<void(int signal)> first,
                                                            std::function<void(int signal)> again);
  virtual ~StopSignal() = default;
};

}  // namespace runtime

#endif  // RUNTIME_PROCESS_STOP_SIGNAL_H_
