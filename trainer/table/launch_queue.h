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

// Decides which trial is launched next: one at a time, the first in the order of trial_queue.h that
// nothing holds back, while a slot is free and the launcher has not just refused. A trial with a
// pool uses the pool's slots instead. Use it on the loop's thread.
class LaunchQueue {
 public:
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned, nor are the three below; all outlive this.
    TrialTable* table = nullptr;
    const TrialView* view = nullptr;
    StartHolds* holds = nullptr;
    int slots = 1;
    std::function<void(Trial&)> start;
    // A trial that this trial was to start after can no longer reach the required state.
    std::function<void(Trial&, const std::string& why)> cannot_start;
    std::function<void()> look_again;  // StartNext() must be called in a later turn of the loop.
  };
  explicit LaunchQueue(Options options) : options_(std::move(options)), slots_(options_.slots) {}

  // Starts the next waiting trial, if any may start.
  void StartNext();
  // Returns the state of the trials that this trial starts after. A trial that has started once
  // waits for no other.
  TrialOrder OrderOfTrial(const Trial& trial) const;

  void SetSlots(int slots) { slots_ = slots; }
  int slots() const { return slots_; }
  // Number of trials that hold a slot; any thread. AddUsed() adjusts it until StartNext() recounts.
  std::uint64_t used() const { return used_; }
  void AddUsed(int more) { used_ = used_ + static_cast<std::uint64_t>(more); }

  // The launcher refuses for now: launches pause, for a time that grows with each refusal.
  void OnRefused();
  void OnAnswered() { refused_launches_ = 0; }

  // The trial could not start for lack of room; it is skipped until TryAllAgain().
  void SkipForRoom(std::int64_t trial) { without_room_.insert(trial); }
  void TryAllAgain() { without_room_.clear(); }

 private:
  const Options options_;
  int slots_;
  std::atomic<std::uint64_t> used_{0};
  // No launch before it fires: the launcher refused.
  runtime::Timer launch_timer_;
  int refused_launches_ = 0;             // Consecutive refusals.
  std::set<std::int64_t> without_room_;  // Skipped until TryAllAgain().
};

}  // namespace trainer

#endif  // TRAINER_TABLE_LAUNCH_QUEUE_H_
