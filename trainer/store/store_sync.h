#ifndef TRAINER_STORE_STORE_SYNC_H_
#define TRAINER_STORE_STORE_SYNC_H_

#include <functional>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "runtime/clock.h"
#include "runtime/event_loop.h"
#include "runtime/timer.h"

namespace trainer {

// Makes stored data survive a power failure within a second, on a disk that syncs in half a second:
// a sync starts half a second after the first write that it covers or, if the previous sync takes
// longer, right after that. (Ray Tune never syncs.) Errors are logged. Use it on the loop's thread.
class StoreSync {
 public:
  static constexpr absl::Duration kInterval = absl::Milliseconds(500);

  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned, nor is the clock; both outlive this.
    runtime::Clock* clock = nullptr;
    std::string path;  // Path of the store.
    // Runs `work` on another thread without delay, then `done` on the loop's thread unless this
    // object was destroyed meanwhile. If unset, work runs on the loop's thread.
    std::function<void(std::function<void()> work, std::function<void()> done)> background = {};
    // Syncs the store at `path`; called on any thread.
    std::function<void(const std::string& path)> sync;
  };
  explicit StoreSync(Options options);
  StoreSync(const StoreSync&) = delete;
  StoreSync& operator=(const StoreSync&) = delete;

  // Schedules a sync after a write. A write during a running sync gets a sync of its own.
  void Soon();

 private:
  void Plan();
  void Sync();

  const Options options_;
  runtime::Timer timer_;
  bool syncs_ = false;  // A sync runs in the background.
  // Monotonic time of the first write that no sync covers yet; unset if all are covered.
  std::optional<absl::Duration> since_;
};

}  // namespace trainer

#endif  // TRAINER_STORE_STORE_SYNC_H_
