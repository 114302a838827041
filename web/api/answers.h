#ifndef WEB_API_ANSWERS_H_
#define WEB_API_ANSWERS_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "bus/call/client.h"
#include "nlohmann/json.hpp"

namespace web {

// Answers to GET requests, except for the table of runs (run_list.h) and series (series_reader.h).
// Each function calls the services over the bus and blocks. If a service does not answer, its part
// is left out and "missing" names the service; errors are those of the service without which no
// answer is possible.

// Returns the state of the yard: services, live trials with their runs, recently failed trials,
// statistics of the data manager, free disk space.
absl::StatusOr<nlohmann::json> YardAnswer(bus::Client& client);
// Returns the current usage of tasks and GPUs. Unavailable if the launcher does not answer.
absl::StatusOr<nlohmann::json> UsageAnswer(bus::Client& client);
// Returns all facts about a run, by its name or the id of its trial: parameters, trial, attempts,
// checkpoints, statistics, provenance, files and their faults.
absl::StatusOr<nlohmann::json> RunAnswer(bus::Client& client, const std::string& name);
// Returns the run's tags with their summaries.
absl::StatusOr<nlohmann::json> TagsAnswer(bus::Client& client, const std::string& run);
// Returns all live trials, and the newest ended ones, at most `newest_ended`.
absl::StatusOr<nlohmann::json> TrialsAnswer(bus::Client& client, std::uint32_t newest_ended);

// Returns all live jobs and the newest ended ones, at most `newest_ended`, with their tasks and
// attempts; newest first.
absl::StatusOr<nlohmann::json> JobsAnswer(bus::Client& client, std::uint32_t newest_ended);
// Returns one job, by its id, a unique prefix of the id, or its name.
absl::StatusOr<nlohmann::json> JobAnswer(bus::Client& client, const std::string& job);

struct LogsQuestion {
  std::string thing = {};  // A job, a task "JOB/worker-1", a trial or a run.
  std::string task = {};   // Name of the job's task, "worker-1"; empty for all.
  std::string find = {};   // See log_page.h.
  std::size_t limit = 200;
  bool errors_only = false;
};
inline constexpr std::size_t kMostLogLines = 5'000;
// Returns the last lines. "job" names the job that wrote them, whose topic carries the lines that
// follow.
absl::StatusOr<nlohmann::json> LogsAnswer(bus::Client& client, const LogsQuestion& question);

}  // namespace web

#endif  // WEB_API_ANSWERS_H_
