#ifndef TOOLS_YARD_FOLLOW_THINGS_JSON_H_
#define TOOLS_YARD_FOLLOW_THINGS_JSON_H_

#include <string>

#include "bus/json/sweep_json.h"
#include "bus/json/things_json.h"
#include "nlohmann/json.hpp"
#include "tools/yard/cli/context.h"

namespace yard {

// JSON that `--json` prints for a trial, a sweep and a job.
using bus::MetricNumbers;
using bus::MetricsToJson;
using bus::NumberToJson;
using bus::PidToJson;
using bus::TextOrNull;
using bus::TimeToJson;
using bus::ToJson;

// One line on `out`; invalid UTF-8 is replaced, an integer beyond 2^53 is a string.
void PrintJson(Context& context, const nlohmann::json& json);
// "loss 0.0811  accuracy 0.974": the first few metrics for a line.
std::string MetricsLine(const std::string& metrics, std::size_t limit = 4);

}  // namespace yard

#endif  // TOOLS_YARD_FOLLOW_THINGS_JSON_H_
