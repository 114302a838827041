#ifndef BUS_JSON_USAGE_JSON_H_
#define BUS_JSON_USAGE_JSON_H_

#include "bus/schema/launcher_generated.h"
#include "nlohmann/json.hpp"

namespace bus {

// The figures of a task, or of a GPU; null is not known.
nlohmann::json ToJson(const msg::TaskUsageT& task);
nlohmann::json ToJson(const msg::GpuUsageT& gpu);
// "cores", "memory_bytes", "tasks", "gpus", "why_no_gpus".
nlohmann::json ToJson(const msg::UsageReplyT& usage);

}  // namespace bus

#endif  // BUS_JSON_USAGE_JSON_H_
