#ifndef LAUNCHER_NODE_ATTEMPT_METER_H_
#define LAUNCHER_NODE_ATTEMPT_METER_H_

#include <functional>
#include <memory>
#include <vector>

#include "launcher/gpu/gpu_meter.h"
#include "launcher/node/node_usage.h"
#include "launcher/run/usage_meter.h"
#include "runtime/coordinator.h"
#include "runtime/event_loop.h"
#include "runtime/thread_pool.h"

namespace launcher {

// Measures the attempts of a node (usage_meter.h) on a separate thread. Use on the loop's thread.
class AttemptMeter {
 public:
  // As in UsageMeter::Options.
  using Gpus = std::function<GpuMeter::Reply(bool with_processes)>;
  // `loop` is not owned and outlives the meter.
  AttemptMeter(runtime::EventLoop* loop, Gpus gpus);
  ~AttemptMeter();  // Waits for a measurement in progress.
  AttemptMeter(const AttemptMeter&) = delete;
  AttemptMeter& operator=(const AttemptMeter&) = delete;

  // Calls `done` with the usage of these attempts; RunningAttempt::task is the key. Does nothing
  // while a measurement is in progress, whose own `done` will be called.
  void Measure(std::vector<RunningAttempt> attempts, std::function<void(NodeUsage)> done);

 private:
  runtime::EventLoop* const loop_;
  UsageMeter meter_;
  bool is_measuring_ = false;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  runtime::Coordinator coordinator_{runtime::Coordinator::Options()};
  // The last field, since the thread uses all others.
  std::unique_ptr<runtime::ThreadPool> thread_;
};

}  // namespace launcher

#endif  // LAUNCHER_NODE_ATTEMPT_METER_H_
