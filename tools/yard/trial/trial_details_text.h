#ifndef TOOLS_YARD_TRIAL_TRIAL_DETAILS_TEXT_H_
#define TOOLS_YARD_TRIAL_TRIAL_DETAILS_TEXT_H_

#include <string>

#include "absl/time/time.h"
#include "bus/schema/trainer_generated.h"
#include "nlohmann/json.hpp"

namespace yard {

// Formats the details that `yard show TRIAL` adds to the trial: its request, checkpoints,
// statistics, and the log of messages from its program.

// Returns lines "key        value" and a table of the metrics' statistics; omits properties that
// were not requested. Shows the last 10 lines of the log, shortened. Printable.
std::string DetailsText(const msg::TrialDetailsReplyT& details, int width = 0,
                        absl::TimeZone zone = absl::UTCTimeZone());
// Returns members for the trial's JSON object: `options` (times in seconds; empty ones omitted),
// `config`, `seed`, `max_restarts`, `statistics` by metric, `checkpoints`, `events_waiting`, `log`.
nlohmann::json DetailsToJson(const msg::TrialDetailsReplyT& details);

}  // namespace yard

#endif  // TOOLS_YARD_TRIAL_TRIAL_DETAILS_TEXT_H_
