#ifndef BUS_ALERT_ALERT_METHODS_H_
#define BUS_ALERT_ALERT_METHODS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bus/alert/alert_store.h"
#include "bus/call/service.h"
#include "bus/event/publisher.h"
#include "runtime/clock.h"
#include "runtime/event_loop.h"

namespace bus {

// Publishes a new or just acknowledged alert on `a/KIND/NAME/`; logs an error.
void PublishAlert(Publisher* publisher, AlertStore* alerts, const msg::AlertT& alert);

struct AlertMethods {
  runtime::EventLoop* loop = nullptr;  // Nothing is owned; all must outlive every call.
  runtime::Clock* clock = nullptr;
  AlertStore* alerts = nullptr;
  // Returns the id of the trial that a caller names. Unset: the name is the id.
  std::function<absl::StatusOr<std::string>(const std::string& name)> find_trial = {};
  // Receives the alerts that a call has acknowledged. Runs on the loop's thread.
  std::function<void(const std::vector<msg::AlertT>& changed)> on_acknowledged = {};
};
// Adds Alerts and AcknowledgeAlerts to a service. Call it before the service is started.
void AddAlertMethods(Service* service, AlertMethods methods);

}  // namespace bus

#endif  // BUS_ALERT_ALERT_METHODS_H_
