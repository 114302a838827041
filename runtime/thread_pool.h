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

// Named threads that run tasks from one bounded queue, tied to a Coordinator. Any thread may call
// any method.
class ThreadPool {
 public:
  enum class OnStop { kDrain, kDrop };  // Fate of queued tasks when the Coordinator stops.
  struct Options {
    std::string name = "pool";       // Threads are NAME-0, NAME-1, ...
    int threads = 2;                 // At least 1.
    std::size_t queue_limit = 4096;  // Limit of waiting tasks.
    OnStop on_stop = OnStop::kDrain;
  };
  struct Stats {
    int threads = 0;
    int busy = 0;
    std::size_t queued = 0;
    std::size_t queue_limit = 0;
    std::uint64_t done = 0;     // Tasks that ran, successfully or not.
    std::uint64_t refused = 0;  // Tasks that Submit() refused.
  };

  // Starts the threads and registers them with `coordinator`; they end when it stops.
  static std::unique_ptr<ThreadPool> Create(Coordinator* coordinator, Options options);
  // Accepts no more tasks, treats queued ones as a stop does, and waits for running ones.
  virtual ~ThreadPool() = default;

  // Queues `task`. ResourceExhausted if the queue is full, Cancelled after a stop. An error that
  // the task returns, or an exception that it throws, goes to the Coordinator and stops the
  // process.
  virtual absl::Status Submit(std::function<absl::Status()> task) = 0;
  virtual Stats GetStats() const = 0;
};

}  // namespace runtime

#endif  // RUNTIME_THREAD_POOL_H_
