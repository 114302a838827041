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

// Raises the launcher's alerts: stores them, publishes them, and passes them to the notifier. A
// stored alert reaches the notifier even if the launcher is killed in between. Use on the loop's
// thread.
class LauncherAlerts {
 public:
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned, like the next three; all outlive this object.
    runtime::Clock* clock = nullptr;
    bus::AlertStore* alerts = nullptr;
    Notifier* notifier = nullptr;
    std::function<void(const msg::AlertT&)> publish;
  };
  explicit LauncherAlerts(Options options) : options_(std::move(options)) {}
  LauncherAlerts(const LauncherAlerts&) = delete;
  LauncherAlerts& operator=(const LauncherAlerts&) = delete;

  // Passes on the alerts that an earlier launcher has stored but not passed on.
  void Resume() { HandOn(); }

  // A service has ended without a request and is restarted. The first restart raises an alert at
  // once; further restarts are collected into alerts, with their number, after pauses of one
  // minute, two, four and so on, up to an hour.
  void OnRestart(const std::string& service, const std::string& how, std::int64_t started_us);
  // Raises the alerts of `news`, and releases its causes.
  void OnMachine(const MachineNews& news);
  // Handles alerts that were just acknowledged.
  void OnAcknowledged(const std::vector<msg::AlertT>& changed) const;

 private:
  struct Restarts {
    absl::Duration told_at = -absl::InfiniteDuration();
    absl::Duration pause = absl::ZeroDuration();
    int since = 0;  // Restarts that no alert has reported yet; the last one:
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
