#ifndef LAUNCHER_ALERT_NOTIFIER_H_
#define LAUNCHER_ALERT_NOTIFIER_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "bus/schema/common_generated.h"
#include "bus/schema/launcher_generated.h"
#include "launcher/alert/notification_store.h"
#include "launcher/alert/notify_pace.h"
#include "runtime/clock.h"
#include "runtime/event_loop.h"
#include "runtime/timer.h"

namespace launcher {

// Notifies the user of each alert once, by a job that runs the yard's `notify` command, which reads
// the alert as a JSON object. Every step is stored before it is taken, and the job's request id
// makes its launch idempotent, so that after a kill at any instant the next launcher continues
// where the last one stopped. A command that fails is tried three times, for at most 30 seconds
// each. Alerts that arrive faster than the pace allows are notified together: the object is the
// oldest one, with the number of alerts and the others in brief. The notifier itself raises no
// alerts. Use on the loop's thread; blocks on the disk.
class Notifier {
 public:
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned, like the next two; all outlive the notifier.
    runtime::Clock* clock = nullptr;
    NotificationStore* store = nullptr;
    std::string command;             // For /bin/sh; empty for no notifications.
    std::vector<std::string> kinds;  // Kinds of alerts to notify; empty for the urgent ones.
    std::vector<std::string> environment;
    std::string state_directory;
    NotifyPace::Options pace = {};
    // Launches a job, like JobTable::Launch().
    std::function<absl::Status(const std::string& request_id, msg::JobSpecT spec)> launch;
  };
  explicit Notifier(Options options);
  Notifier(const Notifier&) = delete;
  Notifier& operator=(const Notifier&) = delete;

  // Continues with the alerts and batches that an earlier launcher has left.
  void Resume();
  // Stores an alert. Returns OK once it is stored, or if alerts of its kind are not notified.
  absl::Status Accept(const msg::AlertT& alert);

 private:
  bool IsTold(const msg::AlertT& alert) const;
  void TellSoon(absl::Duration wait);
  void Tell();
  // Launches the job of a batch. Returns false if it must be tried again.
  bool Launch(const NotificationStore::Batch& batch);

  const Options options_;
  NotifyPace pace_;
  runtime::Timer timer_;
};

// Returns the JSON that the command reads: the first alert, the `count` of all alerts, and the
// others in brief.
std::string NotificationText(const std::vector<msg::AlertT>& alerts);

}  // namespace launcher

#endif  // LAUNCHER_ALERT_NOTIFIER_H_
