#ifndef WEB_API_ANSWERS_H_
#define WEB_API_ANSWERS_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "bus/call/client.h"
#include "nlohmann/json.hpp"

namespace web {

// What GET requests are answered, but for the table of runs (run_list.h) and series
// (series_reader.h). Each asks the services over the bus and blocks. A service that is not there
// leaves its part out and is named in "missing"; errors are those of the service without which
// there is no answer.

// Is everything alive? Services, live trials with the run that each writes, trials that failed
// lately, what the data manager has, room on the disk.
absl::StatusOr<nlohmann::json> YardAnswer(bus::Client& client);
// Figures of tasks and GPUs, as of now. Unavailable: the launcher does not answer.
absl::StatusOr<nlohmann::json> UsageAnswer(bus::Client& client);
// All that is known of a run, by its name or the id of its trial: parameters, trial, attempts,
// checkpoints, statistics, provenance, files and their faults.
absl::StatusOr<nlohmann::json> RunAnswer(bus::Client& client, const std::string& name);
// Its tags with their summaries.
absl::StatusOr<nlohmann::json> TagsAnswer(bus::Client& client, const std::string& run);
// Trials: all that are live, and of ended ones the newest so many.
absl::StatusOr<nlohmann::json> TrialsAnswer(bus::Client& client, std::uint32_t newest_ended);

struct LogsQuestion {
  std::string thing = {};  // A job, a task "JOB/worker-1", a trial or a run.
  std::string task = {};   // "worker-1" of it; empty: all.
  std::string find = {};   // See log_page.h.
  std::size_t limit = 200;
  bool errors_only = false;
};
inline constexpr std::size_t kMostLogLines = 5'000;
// The last lines; with "job", whose output it is and so which topic has what follows.
absl::StatusOr<nlohmann::json> LogsAnswer(bus::Client& client, const LogsQuestion& question);

}  // namespace web

#endif  // WEB_API_ANSWERS_H_
