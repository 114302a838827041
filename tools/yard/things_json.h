#ifndef TOOLS_YARD_THINGS_JSON_H_
#define TOOLS_YARD_THINGS_JSON_H_

#include <cstdint>
#include <string>

#include "bus/schema/envelope_generated.h"
#include "nlohmann/json.hpp"
#include "tools/yard/context.h"

namespace yard {

// What `--json` prints for a trial and a job: names as in the tables, times as ISO 8601 in UTC.
nlohmann::json ToJson(const msg::TrialT& trial);
nlohmann::json ToJson(const msg::JobT& job);
// As in its job.
nlohmann::json ToJson(const msg::TaskT& task);
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
// One line on `out`; invalid UTF-8 is replaced, an integer beyond 2^53 is a string.
void PrintJson(Context& context, const nlohmann::json& json);
// "loss 0.0811  accuracy 0.974": the first few metrics for a line.
std::string MetricsLine(const std::string& metrics, std::size_t limit = 4);

}  // namespace yard

#endif  // TOOLS_YARD_THINGS_JSON_H_
