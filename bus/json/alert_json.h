#ifndef BUS_JSON_ALERT_JSON_H_
#define BUS_JSON_ALERT_JSON_H_

#include "bus/schema/common_generated.h"
#include "nlohmann/json.hpp"

namespace bus {

// An alert as a reader of JSON gets it, from `--json`, over HTTP, and on the standard input of the
// `notify` command; null where there is nothing. Pure; any thread.
nlohmann::json ToJson(const msg::AlertT& alert);

}  // namespace bus

#endif  // BUS_JSON_ALERT_JSON_H_
