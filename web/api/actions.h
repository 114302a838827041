#ifndef WEB_API_ACTIONS_H_
#define WEB_API_ACTIONS_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "bus/call/client.h"
#include "nlohmann/json.hpp"

namespace web {

// Does an action of the page, which is the call of the verb with the same name. `kind`: "trials"
// (stop, pause, resume, rm, tell, set, ack), "jobs" (stop, restart, rm, signal), "sweeps" (stop,
// pause, resume, rm, enqueue), "runs" (set) or "alerts" (ack; `id` is that of an alert, or "all").
// A "request_id" of `body` that comes again has no further effect; "signal" is the number of a
// signal, "event" any JSON for the trial; pause of a sweep takes "drain", resume "failed", enqueue
// "config"; for set `body` may have "add_labels", "remove_labels", "note" and "display_name".
// Answers with the changed trial, job, sweep or run,
// {"tasks": the tasks that got the signal}, {"number": the event's} or {"acknowledged": how many
// alerts were changed}. Blocks. InvalidArgument: no
// action has that name, or a member of `body` is missing or of another type; other errors are the
// service's.
absl::StatusOr<nlohmann::json> DoAction(bus::Client& client, std::string_view kind,
                                        const std::string& id, std::string_view action,
                                        const nlohmann::json& body);

}  // namespace web

#endif  // WEB_API_ACTIONS_H_
