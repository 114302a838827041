#ifndef TRAINER_ALERT_TRIAL_ALERTS_H_
#define TRAINER_ALERT_TRIAL_ALERTS_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bus/alert/alert_store.h"
#include "bus/schema/launcher_generated.h"
#include "bus/schema/trainer_generated.h"
#include "runtime/clock.h"
#include "runtime/event_loop.h"
#include "runtime/timer.h"
#include "trainer/alert/trial_rules.h"
#include "trainer/store/alert_source.h"
#include "trainer/store/trial_store.h"

namespace trainer {

// Raises alerts about trials (trial_rules.h), publishes them, and hands each one to the launcher,
// which notifies a person. At the end of a trial it also asks the launcher to run the trial's
// `on_end` command. Both calls are retried until the launcher answers, even if either process is
// killed, and take effect once: the launcher identifies an alert by its id and a job by its request
// id. Use it on the loop's thread.
class TrialAlerts : public AlertSource {
 public:
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned, nor are the next three; all outlive this.
    runtime::Clock* clock = nullptr;
    TrialStore* store = nullptr;
    bus::AlertStore* alerts = nullptr;  // In the database of the store.
    TrialRules::Settings rules;
    std::function<void(const msg::AlertT&)> publish;
    // Calls to the launcher. `done` runs later, on the loop's thread.
    using Done = std::function<void(absl::Status)>;
    std::function<void(const msg::AlertT&, Done done)> notify;
    std::function<void(const std::string& request_id, const msg::JobSpecT&, Done done)> launch;
    // Returns the first process of each running task of the job; empty if they are unknown.
    std::function<void(const std::string& job, std::function<void(std::vector<pid_t>)> done)>
        leaders;
    // Runs blocking work on another thread. If unset, no stacks are taken.
    std::function<void(std::function<void()> work)> background = {};
    // Return a trial's current state, and the environment that it was requested with, by its id.
    std::function<absl::StatusOr<msg::TrialT>(const std::string& id)> trial;
    std::function<absl::StatusOr<std::vector<std::string>>(const std::string& id)> environment;
    std::string state_directory;  // Passed to `on_end` commands in their environment.
  };
  explicit TrialAlerts(Options options);
  ~TrialAlerts() override;
  TrialAlerts(const TrialAlerts&) = delete;
  TrialAlerts& operator=(const TrialAlerts&) = delete;

  // Resumes the work that an earlier trainer left unfinished. Call it once the trials are known.
  void Resume();

  // Returns true if the trial has failed and nobody has acknowledged that alert.
  bool IsUnseen(const std::string& trial) const { return unseen_.contains(trial); }
  // Call it when these alerts have been acknowledged.
  void OnAcknowledged(const std::vector<msg::AlertT>& changed);
  // Acknowledges the trial's alerts, because a person has acted on the trial. Errors are logged.
  void Acknowledge(const std::string& trial);

  void Know(const TrialRecord& trial) override { rules_.Know(trial); }
  std::vector<bus::NewAlert> AlertsOf(const StoreBatch& batch) override;
  void Stored(const StoreBatch& batch, const std::vector<msg::AlertT>& alerts) override;

 private:
  void RememberSteps();
  void Raised(const msg::AlertT& alert);
  void Tell(const msg::AlertT& alert);

  void WatchStalls();
  void LookForStalls();
  void TakeStacks(TrialRules::Stalled stalled, const std::vector<pid_t>& leaders);
  void RaiseStall(TrialRules::Stalled stalled, const std::string& stacks);

  void HandOnSoon();
  void HandOn();
  void RunOnEnd(const bus::AlertStore::Due& due);
  void OnHanded(const bus::AlertStore::Due& due, bool is_launched, const absl::Status& status);
  void FinishHanding(std::uint64_t number);
  void TryAgainLater(const absl::Status& why);

  // Wraps a callback so that it does nothing after this object is destroyed.
  template <typename F>
  auto Guard(F function) {
    return [alive = alive_, function = std::move(function)](auto... args) mutable {
      if (*alive) function(std::move(args)...);
    };
  }

  const Options options_;
  TrialRules rules_;
  std::set<std::string> unseen_;
  bool is_resumed_ = false;
  runtime::Timer stall_timer_;
  runtime::Timer hand_timer_;
  bool is_handing_ = false;
  bool hands_soon_ = false;
  int failures_ = 0;  // Consecutive failed calls.
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace trainer

#endif  // TRAINER_ALERT_TRIAL_ALERTS_H_
