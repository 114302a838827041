#ifndef BUS_JSON_RUN_JSON_H_
#define BUS_JSON_RUN_JSON_H_

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "bus/schema/datamanager_generated.h"
#include "nlohmann/json.hpp"

namespace bus {

// Runs, their tags and their files as a reader of JSON gets them, from `--json` and over HTTP. Pure
// functions; any thread.

// Counts that are not known yet are null.
nlohmann::json RunToJson(const msg::RunT& run);
nlohmann::json TagToJson(const std::string& run, const msg::TagT& tag);
nlohmann::json FileToJson(const std::string& run, const msg::RunFileT& file);
// A list.
nlohmann::json FaultsToJson(std::span<const std::unique_ptr<msg::FaultT>> faults);

// Its tags, points and last step are known. A data manager of before runs were counted apart says
// what it knows.
bool IsCounted(const msg::RunT& run);
// It has numbers: min, max, last.
bool IsScalar(const msg::TagT& tag);
// The yard itself has measured it ("sys/cpu_percent", docs/trainer_files.md). It is shown only if a
// user asks for it, not beside the metrics that programs report.
bool IsSystemMetric(std::string_view tag);
// "mindspore lineage"
std::string FormatName(msg::FileFormat format);
// "BadPayload" is "bad payload", or with an underscore.
std::string WordsOf(const char* enumerator, char between = ' ');

}  // namespace bus

#endif  // BUS_JSON_RUN_JSON_H_
