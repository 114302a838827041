#ifndef BUS_JSON_STATE_NAMES_H_
#define BUS_JSON_STATE_NAMES_H_

#include <cstdint>
#include <string_view>

#include "bus/schema/launcher_generated.h"
#include "bus/schema/registry_generated.h"
#include "bus/schema/trainer_generated.h"

namespace bus {

// Names of states, identical in text, in `--json`, in the JSON of messages, and on the page:
// "running", "done", "stopped early", ...; "unknown" for a state of a newer version.
const char* StateName(msg::TrialState state);
const char* StateName(msg::TaskState state);
const char* StateName(msg::SweepState state);
const char* StateName(msg::SweepStage stage);
const char* StateName(msg::LeaseState state);
const char* StateName(msg::NodeState state);

// Returns the name of member `value` of the schema's enum `type` ("TrialState"). Null if the enum
// is not one of those above, or has no such member.
const char* StateNameOf(std::string_view type, std::int64_t value);

}  // namespace bus

#endif  // BUS_JSON_STATE_NAMES_H_
