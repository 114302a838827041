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

// Polls the free space of disks and the GPUs every two seconds, since neither sends notifications.
// A disk that does not answer blocks one thread of the pool and suspends the checks; a GPU driver
// that does not answer only yields no figures. Use on the loop's thread.
class MachineWatch {
 public:
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned, like the next; both outlive the watch.
    runtime::ThreadPool* pool = nullptr;
    std::uint64_t disk_floor = 0;  // Bytes; 0 for no alerts.
    absl::Duration every = absl::Seconds(2);
    // Returns the directories whose disks are to be checked.
    std::function<std::vector<std::string>()> directories;
    std::function<void(const MachineNews&)> on_news;
    GpuMeter::Options gpus = {};
  };
  // Starts the first check at once.
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
