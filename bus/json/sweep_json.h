#ifndef BUS_JSON_SWEEP_JSON_H_
#define BUS_JSON_SWEEP_JSON_H_

#include "bus/json/trial_and_job_json.h"
#include "bus/schema/envelope_generated.h"
#include "nlohmann/json.hpp"

namespace bus {

// Convert sweeps to JSON (see trial_and_job_json.h). Pure functions; any thread.
nlohmann::json ToJson(const msg::SweepT& sweep);
nlohmann::json ToJson(const msg::SweepTrialT& trial);
// Returns the sweep's members and also `trial_list`, `levels`, `importance` by parameter,
// `marginals`, `command`, `plan` and `source`.
nlohmann::json ToJson(const msg::SweepDetailsReplyT& details);

}  // namespace bus

#endif  // BUS_JSON_SWEEP_JSON_H_
