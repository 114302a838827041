#ifndef LAUNCHER_ALERT_MACHINE_WATCH_H_
#define LAUNCHER_ALERT_MACHINE_WATCH_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "launcher/alert/machine_rules.h"
#include "launcher/gpu/gpu_meter.h"
#include "runtime/event_loop.h"
#include "runtime/thread_pool.h"

namespace launcher {

// Looks at the room of disks and at GPUs, neither of which tells anybody by itself, every two
// seconds. A disk or a driver that does not answer keeps one thread of the pool, and costs what it
// would have said. On the loop's thread.
class MachineWatch {
 public:
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned, as the next; both outlive it.
    runtime::ThreadPool* pool = nullptr;
    std::uint64_t disk_floor = 0;  // Bytes; 0: no alert.
    absl::Duration every = absl::Seconds(2);
    // Directories on the disks, now.
    std::function<std::vector<std::string>()> directories;
    std::function<void(const MachineNews&)> on_news;
    GpuMeter::Options gpus = {};
  };
  static std::unique_ptr<MachineWatch> Start(Options options);
  ~MachineWatch();
  MachineWatch(const MachineWatch&) = delete;
  MachineWatch& operator=(const MachineWatch&) = delete;

 private:
  class Impl;
  explicit MachineWatch(std::unique_ptr<Impl> impl);

  const std::unique_ptr<Impl> impl_;
};

}  // namespace launcher

#endif  // LAUNCHER_ALERT_MACHINE_WATCH_H_
