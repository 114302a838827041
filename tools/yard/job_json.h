#ifndef TOOLS_YARD_JOB_JSON_H_
#define TOOLS_YARD_JOB_JSON_H_

#include "bus/schema/launcher_generated.h"
#include "nlohmann/json.hpp"

namespace yard {

// Values of the environment, which may be secrets.
enum class Secrets { kHidden, kShown };

// A job as a job file in JSON: what ParseJob() reads gives the same job again, but for hidden
// values. Keys that have their default are left out.
nlohmann::ordered_json JobToJson(const msg::JobSpecT& spec, Secrets secrets);

}  // namespace yard

#endif  // TOOLS_YARD_JOB_JSON_H_
