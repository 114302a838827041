#ifndef TOOLS_YARD_JOB_JOB_JSON_H_
#define TOOLS_YARD_JOB_JOB_JSON_H_

#include <memory>
#include <vector>

#include "bus/schema/launcher_generated.h"
#include "nlohmann/json.hpp"

namespace yard {

// Values of the environment, which may be secrets.
enum class Secrets { kHidden, kShown };

// A job as a job file in JSON: what ParseJob() reads gives the same job again, but for hidden
// values. Keys that have their default are left out.
nlohmann::ordered_json JobToJson(const msg::JobSpecT& spec, Secrets secrets);

// Those keys of a task type that say what each task needs and may use: resources, limits, memory,
// cpus, processes. `control` may be null.
void PutResources(const std::vector<std::unique_ptr<msg::ResourceRequestT>>& resources,
                  const std::vector<std::unique_ptr<msg::ProcessLimitT>>& limits,
                  const msg::ControlLimitsT* control, nlohmann::ordered_json* json);

}  // namespace yard

#endif  // TOOLS_YARD_JOB_JOB_JSON_H_
