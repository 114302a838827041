#ifndef BUS_JSON_TRIAL_AND_JOB_JSON_H_
#define BUS_JSON_TRIAL_AND_JOB_JSON_H_

#include <cstdint>
#include <string>

#include "bus/json/state_names.h"
#include "bus/schema/envelope_generated.h"
#include "nlohmann/json.hpp"

namespace bus {

// Convert trials, jobs and their parts to the JSON of `--json` and of HTTP: member names as in the
// tables, times as ISO 8601 in UTC, null for missing values. Pure functions; any thread.
nlohmann::json ToJson(const msg::TrialT& trial);
nlohmann::json ToJson(const msg::JobT& job);
// The same JSON as the job's member.
nlohmann::json ToJson(const msg::TaskT& task);
nlohmann::json ToJson(const msg::CheckpointT& checkpoint);
nlohmann::json ToJson(const msg::MetricStatisticsT& metric);
// Converts a report's metrics to an object for `--json`. NaN and the infinities, which JSON lacks,
// become the strings "NaN", "Infinity" and "-Infinity"; an integer beyond 2^53 becomes a string
// too.
nlohmann::json MetricsToJson(const std::string& metrics);
// The same for computing: integers stay numbers.
nlohmann::json MetricNumbers(const std::string& metrics);
// The same for one number.
nlohmann::json NumberToJson(double value);
// Convert microseconds since 1970 (to ISO 8601, UTC) and a process id; 0, which means none, becomes
// null.
nlohmann::json TimeToJson(std::int64_t microseconds);
nlohmann::json PidToJson(std::int64_t pid);
// Returns null for an empty text.
nlohmann::json TextOrNull(const std::string& text);
// Returns the same time as plain text; empty for 0.
std::string IsoTime(std::int64_t microseconds);

}  // namespace bus

#endif  // BUS_JSON_TRIAL_AND_JOB_JSON_H_
