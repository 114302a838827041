#ifndef BUS_JSON_RUN_JSON_H_
#define BUS_JSON_RUN_JSON_H_

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "bus/schema/datamanager_generated.h"
#include "nlohmann/json.hpp"

namespace bus {

// Convert runs, their tags and their files to the JSON of `--json` and of HTTP. Pure functions; any
// thread.

// Unknown counts are null.
nlohmann::json RunToJson(const msg::RunT& run);
nlohmann::json TagToJson(const std::string& run, const msg::TagT& tag);
nlohmann::json FileToJson(const std::string& run, const msg::RunFileT& file);
// Returns a JSON array.
nlohmann::json FaultsToJson(std::span<const std::unique_ptr<msg::FaultT>> faults);

// True if the run's tags, points and last step are known. An older data manager does not set
// `counted`; its runs count as known once they have tags.
bool IsCounted(const msg::RunT& run);
// True if the tag has numbers: min, max, last.
bool IsScalar(const msg::TagT& tag);
// True for tags that the yard itself measures ("sys/cpu_percent", docs/trainer_files.md). They are
// shown only on request, not beside the metrics that programs report.
bool IsSystemMetric(std::string_view tag);
// Returns a name such as "mindspore lineage".
std::string FormatName(msg::FileFormat format);
// Converts "BadPayload" to "bad payload", with `between` in place of the space.
std::string WordsOf(const char* enumerator, char between = ' ');

}  // namespace bus

#endif  // BUS_JSON_RUN_JSON_H_
