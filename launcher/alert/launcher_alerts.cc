#include "launcher/alert/launcher_alerts.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"

namespace launcher {
namespace {

constexpr absl::Duration kFirstPause = absl::Minutes(1);
constexpr absl::Duration kLongestPause = absl::Hours(1);
constexpr absl::Duration kRetry = absl::Seconds(1);
constexpr std::size_t kAtOnce = 100;

}  // namespace

void LauncherAlerts::OnRestart(const std::string& service, const std::string& how,
                               std::int64_t started_us) {
  Restarts& restarts = restarts_[service];
  ++restarts.since;
  restarts.how = how;
  restarts.started_us = started_us;
  if (restarts.timer.is_set()) return;
  const absl::Duration quiet = options_.clock->Monotonic() - restarts.told_at;
  if (quiet >= restarts.pause) return TellRestarts(service);
  restarts.timer.Start(options_.loop, restarts.pause - quiet,
                       [this, service] { TellRestarts(service); });
}

void LauncherAlerts::TellRestarts(const std::string& service) {
  Restarts& restarts = restarts_[service];
  const absl::Duration now = options_.clock->Monotonic();
  const bool goes_on = now - restarts.told_at < 2 * restarts.pause;
  restarts.pause = goes_on ? std::min(2 * restarts.pause, kLongestPause) : kFirstPause;
  restarts.told_at = now;
  const int times = std::exchange(restarts.since, 0);
  bus::NewAlert alert;
  alert.cause = absl::StrCat("service/", service, "/", restarts.started_us);
  alert.alert.kind = "service_restarted";
  alert.alert.name = service;
  alert.alert.reason =
      absl::StrCat(service, " has ended (", restarts.how, ") and is started again");
  if (times > 1) {
    absl::StrAppend(&alert.alert.reason, ", ", times, " times since the last alert of it");
  }
  alert.alert.next = {"yard status", "yard logs " + service};
  Raise(std::move(alert));
}

void LauncherAlerts::OnMachine(const MachineNews& news) {
  for (const std::string& cause : news.released) {
    const absl::Status released = options_.alerts->Release(cause);
    LOG_IF(ERROR, !released.ok()) << released;
  }
  for (const bus::NewAlert& alert : news.raised) Raise(alert);
}

void LauncherAlerts::OnAcknowledged(const std::vector<msg::AlertT>& changed) const {
  for (const msg::AlertT& alert : changed) options_.publish(alert);
}

void LauncherAlerts::Raise(bus::NewAlert alert) {
  alert.alert.time_us = absl::ToUnixMicros(options_.clock->Now());
  const auto raised = options_.alerts->Add(alert);
  LOG_IF(ERROR, !raised.ok()) << "alert " << alert.cause << ": " << raised.status();
  if (!raised.ok() || !*raised) return;
  options_.publish(**raised);
  HandOn();
}

void LauncherAlerts::HandOn() {
  const auto due = options_.alerts->NotHanded(kAtOnce);
  absl::Status status = due.status();
  for (std::size_t i = 0; status.ok() && i < due->size(); ++i) {
    const msg::AlertT& alert = (*due)[i].alert;
    status = options_.notifier->Accept(alert);
    if (status.ok()) status = options_.alerts->MarkHanded(alert.number);
  }
  if (status.ok() && due->size() < kAtOnce) return;
  LOG_IF(ERROR, !status.ok()) << status;
  timer_.Start(options_.loop, status.ok() ? absl::ZeroDuration() : kRetry, [this] { HandOn(); });
}

}  // namespace launcher
