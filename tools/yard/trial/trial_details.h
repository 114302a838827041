#ifndef TOOLS_YARD_TRIAL_TRIAL_DETAILS_H_
#define TOOLS_YARD_TRIAL_TRIAL_DETAILS_H_

#include <string>

#include "absl/time/time.h"
#include "bus/schema/trainer_generated.h"
#include "nlohmann/json.hpp"

namespace yard {

// Details that `yard show TRIAL` prints beyond the trial itself: its request, checkpoints,
// statistics, the program's words in its log.

// Lines of "key        value" and a table of the metrics' statistics; what was not asked for has no
// line. The log has its last 10 lines here, long ones cut. Printable.
std::string DetailsText(const msg::TrialDetailsReplyT& details, int width = 0,
                        absl::TimeZone zone = absl::UTCTimeZone());
// Members for the trial's object: `options` (times in seconds; what has no value is left out),
// `config`, `seed`, `max_restarts`, `statistics` by metric, `checkpoints`, `events_waiting`, `log`.
nlohmann::json DetailsToJson(const msg::TrialDetailsReplyT& details);

}  // namespace yard

#endif  // TOOLS_YARD_TRIAL_TRIAL_DETAILS_H_
