#include "bus/json/alert_json.h"

#include "bus/json/trial_and_job_json.h"

namespace bus {

nlohmann::json ToJson(const msg::AlertT& alert) {
  const bool has_metric = !alert.metric.empty();
  return {{"id", alert.id},
          {"kind", alert.kind},
          {"name", alert.name},
          {"time", TimeToJson(alert.time_us)},
          {"reason", alert.reason},
          {"lines", alert.lines},
          {"next", alert.next},
          {"trial", TextOrNull(alert.trial)},
          {"group", TextOrNull(alert.group)},
          {"metric", TextOrNull(alert.metric)},
          {"step", has_metric ? nlohmann::json(alert.step) : nlohmann::json()},
          {"value", TextOrNull(alert.value)},
          {"acknowledged", alert.acknowledged},
          {"acknowledged_time", TimeToJson(alert.acknowledged_us)},
          {"owner", alert.owner}};
}

}  // namespace bus
