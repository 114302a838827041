#ifndef BUS_JSON_THINGS_JSON_H_
#define BUS_JSON_THINGS_JSON_H_

#include <cstdint>
#include <string>

#include "bus/json/state_names.h"
#include "bus/schema/envelope_generated.h"
#include "nlohmann/json.hpp"

namespace bus {

// Trials, jobs and what belongs to them as a reader of JSON gets them, from `--json` and over HTTP:
// names as in the tables, times as ISO 8601 in UTC, null where there is nothing. Pure functions;
// any thread.
nlohmann::json ToJson(const msg::TrialT& trial);
nlohmann::json ToJson(const msg::JobT& job);
// As in its job.
nlohmann::json ToJson(const msg::TaskT& task);
nlohmann::json ToJson(const msg::CheckpointT& checkpoint);
nlohmann::json ToJson(const msg::MetricStatisticsT& metric);
// A report's metrics as an object for `--json`; NaN and the infinities, which JSON does not have,
// as the strings "NaN", "Infinity", "-Infinity", an integer beyond 2^53 as a string, too.
nlohmann::json MetricsToJson(const std::string& metrics);
// The same to reckon with: an integer is a number.
nlohmann::json MetricNumbers(const std::string& metrics);
// The same for one number.
nlohmann::json NumberToJson(double value);
// "ISO 8601 UTC" of microseconds since 1970, and a process's number; null for 0, which is none.
nlohmann::json TimeToJson(std::int64_t microseconds);
nlohmann::json PidToJson(std::int64_t pid);
// Null for an empty one.
nlohmann::json TextOrNull(const std::string& text);
// The same time as text; empty for 0.
std::string IsoTime(std::int64_t microseconds);

}  // namespace bus

#endif  // BUS_JSON_THINGS_JSON_H_
