#ifndef TOOLS_YARD_FOLLOW_JSON_OUTPUT_H_
#define TOOLS_YARD_FOLLOW_JSON_OUTPUT_H_

#include <string>

#include "bus/json/sweep_json.h"
#include "bus/json/trial_and_job_json.h"
#include "nlohmann/json.hpp"
#include "tools/yard/cli/context.h"

namespace yard {

// The JSON that `--json` prints for trials, sweeps and jobs.
using bus::MetricNumbers;
using bus::MetricsToJson;
using bus::NumberToJson;
using bus::PidToJson;
using bus::TextOrNull;
using bus::TimeToJson;
using bus::ToJson;

// Prints one line on `out`. Replaces invalid UTF-8; integers beyond 2^53 become strings.
void PrintJson(Context& context, const nlohmann::json& json);
// Returns the first `limit` metrics for a line: "loss 0.0811  accuracy 0.974".
std::string MetricsLine(const std::string& metrics, std::size_t limit = 4);

}  // namespace yard

#endif  // TOOLS_YARD_FOLLOW_JSON_OUTPUT_H_
