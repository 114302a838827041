#ifndef LAUNCHER_ALERT_LAUNCHER_ALERTS_H_
#define LAUNCHER_ALERT_LAUNCHER_ALERTS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "bus/alert/alert_store.h"
#include "bus/schema/common_generated.h"
#include "launcher/alert/machine_rules.h"
#include "launcher/alert/notifier.h"
#include "runtime/clock.h"
#include "runtime/event_loop.h"
#include "runtime/timer.h"

namespace launcher {

// Raises the alerts that the launcher owns: stores, publishes, and passes them to the notifier,
// which an alert that is stored reaches over any kill of the launcher. On the loop's thread.
class LauncherAlerts {
 public:
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned, as the next three; all outlive it.
    runtime::Clock* clock = nullptr;
    bus::AlertStore* alerts = nullptr;
    Notifier* notifier = nullptr;
    std::function<void(const msg::AlertT&)> publish;
  };
  explicit LauncherAlerts(Options options) : options_(std::move(options)) {}
  LauncherAlerts(const LauncherAlerts&) = delete;
  LauncherAlerts& operator=(const LauncherAlerts&) = delete;

  // Goes on with what an earlier launcher left.
  void Resume() { HandOn(); }

  // A service has ended that nobody had asked to, and is started again. A service that does so
  // again and again raises an alert at once, and further ones after a minute, two, four and so on,
  // up to an hour, that say how often it was.
  void OnRestart(const std::string& service, const std::string& how, std::int64_t started_us);
  void OnMachine(const MachineNews& news);
  // These alerts were just acknowledged.
  void OnAcknowledged(const std::vector<msg::AlertT>& changed) const;

 private:
  struct Restarts {
    absl::Duration told_at = -absl::InfiniteDuration();
    absl::Duration pause = absl::ZeroDuration();
    int since = 0;  // Restarts that no alert has told of; the last one:
    std::string how;
    std::int64_t started_us = 0;
    runtime::Timer timer;
  };
  void TellRestarts(const std::string& service);
  void Raise(bus::NewAlert alert);
  void HandOn();

  const Options options_;
  std::map<std::string, Restarts> restarts_;
  runtime::Timer timer_;
};

}  // namespace launcher

#endif  // LAUNCHER_ALERT_LAUNCHER_ALERTS_H_
