#ifndef RUNTIME_THREAD_POOL_H_
#define RUNTIME_THREAD_POOL_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "runtime/coordinator.h"

namespace runtime {

// Named threads that run tasks from one bounded queue, tied to a Coordinator. Any thread may
// call any method.
class ThreadPool {
 public:
  enum class OnStop { kDrain, kDrop };  // The fate of queued tasks when the Coordinator stops.
  struct Options {
    std::string name = "pool";       // Threads are NAME-0, NAME-1, ...
    int threads = 2;                 // At least 1.
    std::size_t queue_limit = 4096;  // Tasks waiting, at most.
    OnStop on_stop = OnStop::kDrain;
  };
  struct Stats {
    int threads = 0;
    int busy = 0;
    std::size_t queued = 0;
    std::size_t queue_limit = 0;
    std::uint64_t done = 0;     // Tasks that ran, with or without success.
    std::uint64_t refused = 0;  // Tasks that Submit() did not take.
  };

  // Starts the threads and registers them with `coordinator`. The threads end when it stops.
  static std::unique_ptr<ThreadPool> Create(Coordinator* coordinator, Options options);
  // Takes no more tasks, treats the queued ones as a stop would, and waits for the running ones.
  virtual ~ThreadPool() = default;

  // Queues `task`. ResourceExhausted when the queue is full, Cancelled after a stop. A task's
  // error, or the exception it throws, reaches the Coordinator and stops the process.
  virtual absl::Status Submit(std::function<absl::Status()> task) = 0;
  virtual Stats GetStats() const = 0;
};

}  // namespace runtime

#endif  // RUNTIME_THREAD_POOL_H_
