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

// Publishes an alert, new or just acknowledged, on `a/KIND/NAME/`; an error is logged.
void PublishAlert(Publisher* publisher, AlertStore* alerts, const msg::AlertT& alert);

struct AlertMethods {
  runtime::EventLoop* loop = nullptr;  // Nothing is owned; all outlives every call.
  runtime::Clock* clock = nullptr;
  AlertStore* alerts = nullptr;
  // The id of the trial that a caller names. Unset: it is its id.
  std::function<absl::StatusOr<std::string>(const std::string& name)> find_trial = {};
  // Alerts that a call has acknowledged; on the loop's thread.
  std::function<void(const std::vector<msg::AlertT>& changed)> on_acknowledged = {};
};
// Alerts and AcknowledgeAlerts of a service. To be added before the service is started.
void AddAlertMethods(Service* service, AlertMethods methods);

}  // namespace bus

#endif  // BUS_ALERT_ALERT_METHODS_H_
