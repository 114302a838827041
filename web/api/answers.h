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
// Each function asks the services over the bus and blocks. If a service does not answer, its part
// is left out and "missing" names the service; errors are those of the service without which no
// answer is possible.

// Is everything alive? Services, live trials with the run that each writes, trials that failed
// lately, figures of the data manager, room on the disk.
absl::StatusOr<nlohmann::json> YardAnswer(bus::Client& client);
// Figures of tasks and GPUs, as of now. Unavailable: the launcher does not answer.
absl::StatusOr<nlohmann::json> UsageAnswer(bus::Client& client);
// All facts about a run, by its name or the id of its trial: parameters, trial, attempts,
// checkpoints, statistics, provenance, files and their faults.
absl::StatusOr<nlohmann::json> RunAnswer(bus::Client& client, const std::string& name);
// The run's tags with their summaries.
absl::StatusOr<nlohmann::json> TagsAnswer(bus::Client& client, const std::string& run);
// Trials: all live ones, and at most `newest_ended` ended ones, the newest.
absl::StatusOr<nlohmann::json> TrialsAnswer(bus::Client& client, std::uint32_t newest_ended);

// Jobs with their tasks and attempts: all live ones, and at most `newest_ended` ended ones, the
// newest of all first.
absl::StatusOr<nlohmann::json> JobsAnswer(bus::Client& client, std::uint32_t newest_ended);
// One job, by its id, a unique prefix of that, or its name.
absl::StatusOr<nlohmann::json> JobAnswer(bus::Client& client, const std::string& job);

struct LogsQuestion {
  std::string thing = {};  // A job, a task "JOB/worker-1", a trial or a run.
  std::string task = {};   // Name of the task in the job, "worker-1"; empty: all.
  std::string find = {};   // See log_page.h.
  std::size_t limit = 200;
  bool errors_only = false;
};
inline constexpr std::size_t kMostLogLines = 5'000;
// The last lines; "job" names the job that wrote them, and so the topic that has the lines that
// follow.
absl::StatusOr<nlohmann::json> LogsAnswer(bus::Client& client, const LogsQuestion& question);

}  // namespace web

#endif  // WEB_API_ANSWERS_H_
