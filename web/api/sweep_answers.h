#ifndef WEB_API_SWEEP_ANSWERS_H_
#define WEB_API_SWEEP_ANSWERS_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "bus/call/client.h"
#include "nlohmann/json.hpp"

namespace web {

// Answers about sweeps, from the trainer, and about the importance of parameters, from the data
// manager. Each function blocks.

// Returns all sweeps, newest first, each with its best trial.
absl::StatusOr<nlohmann::json> SweepsAnswer(bus::Client& client);
// Returns all facts about a sweep, by its name, its id or a prefix of its id.
absl::StatusOr<nlohmann::json> SweepAnswer(bus::Client& client, const std::string& sweep);
// Returns the importance of parameters. `body` is {"value": "min:loss", "goal": "minimize", "q":
// QUERY}, or has "runs" in place of "q", whose names may omit a common "prefix". InvalidArgument if
// `body` has another form.
absl::StatusOr<nlohmann::json> ImportanceAnswer(bus::Client& client, const std::string& body);
// Stops, pauses, resumes or removes a sweep, or adds a configuration to try next. `body` is an
// object.
absl::StatusOr<nlohmann::json> ChangeSweep(bus::Client& client, const std::string& sweep,
                                           std::string_view action, const nlohmann::json& body,
                                           const std::string& request_id);

}  // namespace web

#endif  // WEB_API_SWEEP_ANSWERS_H_
