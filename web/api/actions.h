#ifndef WEB_API_ACTIONS_H_
#define WEB_API_ACTIONS_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "bus/call/client.h"
#include "nlohmann/json.hpp"

namespace web {

// What a page may do: each is the call of the verb of that name. `kind`: "trials" (stop, pause,
// resume, rm) or "jobs" (stop, restart, rm). The same `request_id` does it once. Answers with the
// thing as it is then. Blocks. InvalidArgument: there is no such action; else what the service
// says.
absl::StatusOr<nlohmann::json> DoAction(bus::Client& client, std::string_view kind,
                                        const std::string& id, std::string_view action,
                                        const std::string& request_id);

}  // namespace web

#endif  // WEB_API_ACTIONS_H_
