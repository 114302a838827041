#ifndef BUS_PROCESS_STATS_SOURCE_H_
#define BUS_PROCESS_STATS_SOURCE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "bus/call/service.h"
#include "bus/schema/common_generated.h"
#include "bus/thread/node.h"
#include "runtime/clock.h"
#include "runtime/coordinator.h"
#include "runtime/mutex.h"
#include "runtime/thread_pool.h"

namespace bus {

// Collects the answer of Stats for one service on request: its threads, pool, methods and counters,
// and its process's use of the machine. Any thread may call any method.
class StatsSource {
 public:
  struct Options {  // Owns nothing; all must outlive the source.
    std::string service;
    runtime::Clock* clock = nullptr;
    runtime::Coordinator* coordinator = nullptr;
    runtime::ThreadPool* pool = nullptr;
    Node* node = nullptr;
    Service* methods = nullptr;
  };
  explicit StatsSource(Options options);

  // Add figures of the service's own; `value` is called on any thread and must not block. A counter
  // only grows, a gauge goes up and down.
  void AddCounter(std::string name, std::function<std::uint64_t()> value);
  void AddGauge(std::string name, std::function<std::uint64_t()> value);
  // Notes that the service is stopping, and why.
  void SetStopReason(std::string why);

  msg::StatsReplyT Gather() const;

 private:
  struct Number {
    std::string name;
    std::function<std::uint64_t()> value;
    bool gauge;
  };
  void GatherCounters(msg::StatsReplyT* stats) const;

  const Options options_;
  const absl::Duration started_ = options_.clock->Monotonic();
  const absl::Time started_at_ = options_.clock->Now();

  mutable runtime::Mutex mutex_;
  std::vector<Number> numbers_ ABSL_GUARDED_BY(mutex_);
  std::string stop_reason_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace bus

#endif  // BUS_PROCESS_STATS_SOURCE_H_
