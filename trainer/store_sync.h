#ifndef TRAINER_STORE_SYNC_H_
#define TRAINER_STORE_SYNC_H_

#include <functional>
#include <string>

#include "absl/time/time.h"
#include "runtime/event_loop.h"

namespace trainer {

// Makes what was stored survive a loss of power, a second later: one sync for all that was stored
// meanwhile. (Ray Tune syncs nothing.) An error is logged. On the loop's thread.
class StoreSync {
 public:
  static constexpr absl::Duration kInterval = absl::Seconds(1);

  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned; outlives it.
    std::string path;                    // Of the store.
    // Does `work` on another thread, then `done` on the loop's, unless this has gone by then.
    // Unset: it is done at once, on the loop's thread.
    std::function<void(std::function<void()> work, std::function<void()> done)> background = {};
    std::function<void(const std::string& path)> sync;  // Any thread.
  };
  explicit StoreSync(Options options);
  ~StoreSync();
  StoreSync(const StoreSync&) = delete;
  StoreSync& operator=(const StoreSync&) = delete;

  // Something was stored. What is stored while a sync is under way gets one of its own.
  void Soon();

 private:
  void Sync();

  const Options options_;
  runtime::EventLoop::TimerId timer_ = 0;
  bool syncs_ = false;     // Now, in the background.
  bool is_synced_ = true;  // Or will be, by the sync that was begun.
};

}  // namespace trainer

#endif  // TRAINER_STORE_SYNC_H_
