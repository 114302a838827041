#ifndef TRAINER_TABLE_ATTEMPT_GUARD_H_
#define TRAINER_TABLE_ATTEMPT_GUARD_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bus/schema/launcher_generated.h"
#include "runtime/clock.h"
#include "runtime/event_loop.h"
#include "trainer/attempt/room_waits.h"
#include "trainer/store/trial_store.h"
#include "trainer/table/trial_table.h"
#include "trainer/trial/life.h"
#include "trainer/trial/trial.h"

namespace trainer {

// Watches running attempts: their time budget, their heartbeat, and the run time after which the
// launcher ends them. Before a silent or late attempt is stopped, the stacks of its processes are
// written to its log. While a node does not answer, for example because it is suspended or cut off,
// its attempts do not count as silent: their heartbeat time restarts when the node answers. Use it
// on the loop's thread.
class AttemptGuard {
 public:
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned, nor are the four below; all outlive this.
    const runtime::Clock* clock = nullptr;
    TrialStore* store = nullptr;
    TrialTable* table = nullptr;
    const RoomWaits* room_waits = nullptr;
    // Runs `work` on another thread and then `done` on the loop's thread, unless the trials are
    // gone. If unset, no stacks are taken.
    std::function<void(std::function<void()> work, std::function<void()> done)> background = {};
    // Called when BudgetUsedUp, Silent or StopDue has happened to the trial.
    std::function<void(Trial&, const LifeEvent&)> happened;
    // Asks the launcher to measure all tasks; the reply omits the tasks of nodes that do not
    // answer. `done` is called once, at once or later on the loop. If unset, nodes count as
    // answering.
    std::function<void(std::function<void(absl::StatusOr<msg::UsageReplyT>)> done)> usage = {};
  };
  explicit AttemptGuard(Options options) : options_(std::move(options)) {}
  ~AttemptGuard() { *alive_ = false; }
  AttemptGuard(const AttemptGuard&) = delete;
  AttemptGuard& operator=(const AttemptGuard&) = delete;

  // Watches the trial's attempt until End().
  void Begin(Trial& trial);
  void End(Trial& trial);
  // A line of the trial has arrived. For a trial that is not watched this does not read the clock.
  void OnLine(Trial& trial) const {
    if (trial.watch_timer.is_set() || trial.asks_for_node) OnSignOfLife(trial);
  }
  // The trial is not silent: its heartbeat time restarts.
  void OnSignOfLife(Trial& trial) const { trial.last_heard = options_.clock->Monotonic(); }
  // Writes the stacks of the trial's processes to its log and then raises StopDue, after a short
  // time even if no stacks were obtained.
  void TakeStacksAndStop(Trial& trial);

 private:
  void Watch(Trial& trial);
  void WatchRunTime(Trial& trial);
  void OnSilence(Trial& trial);
  void OnUsage(Trial& trial, absl::Duration heard, const absl::StatusOr<msg::UsageReplyT>& usage);
  void TakeStacks(const Trial& trial, std::function<void(Trial&, const std::string&)> done);
  void KeepStacks(const Trial& trial, const std::string& why, const std::string& stacks);

  const Options options_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace trainer

#endif  // TRAINER_TABLE_ATTEMPT_GUARD_H_
