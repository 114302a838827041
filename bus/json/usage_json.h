#ifndef BUS_JSON_USAGE_JSON_H_
#define BUS_JSON_USAGE_JSON_H_

#include "bus/schema/launcher_generated.h"
#include "nlohmann/json.hpp"

namespace bus {

// Convert the resource usage of a task or a GPU; unknown figures are null.
nlohmann::json ToJson(const msg::TaskUsageT& task);
nlohmann::json ToJson(const msg::GpuUsageT& gpu);
// Returns an object with "cores", "memory_bytes", "tasks", "gpus" and "why_no_gpus".
nlohmann::json ToJson(const msg::UsageReplyT& usage);

}  // namespace bus

#endif  // BUS_JSON_USAGE_JSON_H_
