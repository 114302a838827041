#ifndef BUS_JSON_ALERT_JSON_H_
#define BUS_JSON_ALERT_JSON_H_

#include "bus/schema/common_generated.h"
#include "nlohmann/json.hpp"

namespace bus {

// Converts an alert to the JSON of `--json`, of HTTP, and of the `notify` command's standard input;
// missing values are null. Pure; any thread.
nlohmann::json ToJson(const msg::AlertT& alert);

}  // namespace bus

#endif  // BUS_JSON_ALERT_JSON_H_
