#ifndef WEB_API_ACTIONS_H_
#define WEB_API_ACTIONS_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "bus/call/client.h"
#include "nlohmann/json.hpp"

namespace web {

// What a page may do: each is the call of the verb of that name. `kind`: "trials" (stop, pause,
// resume, rm, tell, set), "jobs" (stop, restart, rm, signal) or "runs" (set). A "request_id" of
// `body` that comes again does nothing again; "signal" is the number of one, "event" any JSON to be
// told, and for set there may be "add_labels", "remove_labels", "note" and "display_name". Answers
// with the thing as it is then, {"tasks": those that got the signal} or {"number": of the event}.
// Blocks. InvalidArgument: there is no such action, it lacks something, or what it is told is of
// another type; else what the service says.
absl::StatusOr<nlohmann::json> DoAction(bus::Client& client, std::string_view kind,
                                        const std::string& id, std::string_view action,
                                        const nlohmann::json& body);

}  // namespace web

#endif  // WEB_API_ACTIONS_H_
