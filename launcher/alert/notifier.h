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

// Tells a person of alerts, each once: by a job that runs the yard's `notify` command, which reads
// the alert as a JSON object. The notifier stores what it does before it does it, and the job has a
// request id of its own, so that a launcher that is killed at any instant goes on where the last
// one was. A command that fails is tried three times, for 30 seconds each. Alerts that come faster
// than the pace wait, and are told together: the oldest one as the object, with the number of all
// and the others in brief. Nothing of this raises an alert. On the loop's thread; blocks for the
// disk.
class Notifier {
 public:
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned, as the two below; all outlive it.
    runtime::Clock* clock = nullptr;
    NotificationStore* store = nullptr;
    std::string command;             // For /bin/sh; empty: nobody is told.
    std::vector<std::string> kinds;  // Kinds of alerts that are told; empty: the urgent ones.
    std::vector<std::string> environment;
    std::string state_directory;
    NotifyPace::Options pace = {};
    // As JobTable::Launch().
    std::function<absl::Status(const std::string& request_id, msg::JobSpecT spec)> launch;
  };
  explicit Notifier(Options options);
  Notifier(const Notifier&) = delete;
  Notifier& operator=(const Notifier&) = delete;

  // Goes on with what an earlier launcher left.
  void Resume();
  // OK once the alert is stored, or if nobody is told of its kind.
  absl::Status Accept(const msg::AlertT& alert);

 private:
  bool IsTold(const msg::AlertT& alert) const;
  void TellSoon(absl::Duration wait);
  void Tell();
  // False: to be tried again.
  bool Launch(const NotificationStore::Batch& batch);

  const Options options_;
  NotifyPace pace_;
  runtime::Timer timer_;
};

// The JSON that the command reads: the first alert, `count` of all of them, and the others in
// brief.
std::string NotificationText(const std::vector<msg::AlertT>& alerts);

}  // namespace launcher

#endif  // LAUNCHER_ALERT_NOTIFIER_H_
