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

// Makes what was stored survive a loss of power within a second, on a disk that syncs in half of
// one: a sync begins half a second after the first of all that it is for, or, if the one before
// takes longer, right after that. (Ray Tune syncs nothing.) An error is logged. On the loop's
// thread.
class StoreSync {
 public:
  static constexpr absl::Duration kInterval = absl::Milliseconds(500);

  struct Options {
    runtime::EventLoop* loop = nullptr;  // Neither is owned; both outlive it.
    runtime::Clock* clock = nullptr;
    std::string path;  // Path of the store.
    // Does `work` on another thread, at once, then `done` on the loop's, unless this has gone by
    // then. Unset: it is done on the loop's thread.
    std::function<void(std::function<void()> work, std::function<void()> done)> background = {};
    std::function<void(const std::string& path)> sync;  // Any thread.
  };
  explicit StoreSync(Options options);
  StoreSync(const StoreSync&) = delete;
  StoreSync& operator=(const StoreSync&) = delete;

  // Something was stored. A write that is stored while a sync is under way gets a sync of its own.
  void Soon();

 private:
  void Plan();
  void Sync();

  const Options options_;
  runtime::Timer timer_;
  bool syncs_ = false;  // Now, in the background.
  // Monotonic: the first of what no sync was begun for. Unset: there is nothing.
  std::optional<absl::Duration> since_;
};

}  // namespace trainer

#endif  // TRAINER_STORE_STORE_SYNC_H_
