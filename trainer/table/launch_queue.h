#ifndef TRAINER_TABLE_LAUNCH_QUEUE_H_
#define TRAINER_TABLE_LAUNCH_QUEUE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>

#include "runtime/clock.h"
#include "runtime/event_loop.h"
#include "runtime/timer.h"
#include "trainer/attempt/start_holds.h"
#include "trainer/table/trial_table.h"
#include "trainer/table/trial_view.h"
#include "trainer/trial/trial.h"
#include "trainer/trial/trial_order.h"

namespace trainer {

// Says whose turn it is to be launched: one trial at a time, the first by trial_queue.h that
// nothing holds back, while a slot is free and the launcher did not just refuse. A trial with a
// pool has its own slots there. On the loop's thread.
class LaunchQueue {
 public:
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned, as the three below; all outlive it.
    TrialTable* table = nullptr;
    const TrialView* view = nullptr;
    StartHolds* holds = nullptr;
    int slots = 1;
    std::function<void(Trial&)> start;
    // A trial that it was to start after has not come as far as it must, and never will.
    std::function<void(Trial&, const std::string& why)> cannot_start;
    std::function<void()> look_again;  // StartNext() is to be called in a later turn of the loop.
  };
  explicit LaunchQueue(Options options) : options_(std::move(options)), slots_(options_.slots) {}

  // Starts the next trial that waits, if there is one.
  void StartNext();
  // The trials that it starts after, as they are now. A trial that has begun once waits for no
  // other any more.
  TrialOrder OrderOfTrial(const Trial& trial) const;

  void SetSlots(int slots) { slots_ = slots; }
  int slots() const { return slots_; }
  // How many trials hold a slot; any thread. AddUsed() until StartNext() counts them again.
  std::uint64_t used() const { return used_; }
  void AddUsed(int more) { used_ = used_ + static_cast<std::uint64_t>(more); }

  // The launcher refuses, for now: nothing is launched for a while, which grows.
  void OnRefused();
  void OnAnswered() { refused_launches_ = 0; }

  // There was no room to start it: it does not have its turn before TryAllAgain().
  void SkipForRoom(std::int64_t trial) { without_room_.insert(trial); }
  void TryAllAgain() { without_room_.clear(); }

 private:
  const Options options_;
  int slots_;
  std::atomic<std::uint64_t> used_{0};
  // Nothing is launched before it fires: the launcher refused.
  runtime::Timer launch_timer_;
  int refused_launches_ = 0;             // In a row.
  std::set<std::int64_t> without_room_;  // Could not be started for that; until the next try.
};

}  // namespace trainer

#endif  // TRAINER_TABLE_LAUNCH_QUEUE_H_
