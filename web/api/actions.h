#ifndef WEB_API_ACTIONS_H_
#define WEB_API_ACTIONS_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "bus/call/client.h"
#include "nlohmann/json.hpp"

namespace web {

// Performs an action of the page by calling the service as the verb of the same name does.
// `kind` is "trials" (stop, pause, resume, rm, tell, set, ack), "jobs" (stop, restart, rm,
// signal), "sweeps" (stop, pause, resume, rm, enqueue), "runs" (set) or "alerts" (ack; `id` is
// that of an alert, or "all"). Idempotent if `body` has a "request_id". Other members of
// `body`: for signal, "signal" is the number of a signal; for tell, "event" is any JSON for
// the trial; for sweeps, pause takes "drain", resume "failed", and enqueue "config"; set takes
// "add_labels", "remove_labels", "note" and "display_name". Returns the changed trial, job,
// sweep or run, {"tasks": the tasks that got the signal}, {"number": the event's} or
// {"acknowledged": number of changed alerts}. Blocks. InvalidArgument if no action has this
// name, or if a member of `body` is missing or of another type; other errors are the
// service's.
absl::StatusOr<nlohmann::json> DoAction(bus::Client& client, std::string_view kind,
                                        const std::string& id, std::string_view action,
                                        const nlohmann::json& body);

}  // namespace web

#endif  // WEB_API_ACTIONS_H_
