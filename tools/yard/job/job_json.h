#ifndef TOOLS_YARD_JOB_JOB_JSON_H_
#define TOOLS_YARD_JOB_JOB_JSON_H_

#include <memory>
#include <vector>

#include "bus/schema/launcher_generated.h"
#include "nlohmann/json.hpp"

namespace yard {

// Whether to show the values of environment variables, which may be secrets.
enum class Secrets { kHidden, kShown };

// Returns a job as a job file in JSON. ParseJob() restores the same job from it, except for hidden
// values. Omits keys with their default value.
nlohmann::ordered_json JobToJson(const msg::JobSpecT& spec, Secrets secrets);

// Adds the keys of a task type about each task's resources and limits: resources, limits, memory,
// cpus, processes. `control` may be null.
void PutResources(const std::vector<std::unique_ptr<msg::ResourceRequestT>>& resources,
                  const std::vector<std::unique_ptr<msg::ProcessLimitT>>& limits,
                  const msg::ControlLimitsT* control, nlohmann::ordered_json* json);

}  // namespace yard

#endif  // TOOLS_YARD_JOB_JOB_JSON_H_
