#ifndef DATAMANAGER_QUERY_RUN_FACTS_H_
#define DATAMANAGER_QUERY_RUN_FACTS_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace datamanager {

// The facts about a run that a query may ask for: the input of run_query.h and selection.h. They
// are views into data of the caller, which keeps that data unchanged while they are used.

// Whether a run's points are in memory.
enum class CacheState : std::uint8_t { kNotCached, kCaching, kCached, kFailed };

struct TagFacts {
  std::string_view name;
  std::string_view plugin;
  // True: the tag has scalar points, and the numbers below mean something.
  bool scalar = false;
  double last = std::numeric_limits<double>::quiet_NaN();  // As ScalarSummary has it.
  // Over finite values; NaN if the tag has no finite value.
  double min = std::numeric_limits<double>::quiet_NaN();
  double max = std::numeric_limits<double>::quiet_NaN();
};

// A parameter of a run (run_parameters.h).
struct ConfigFacts {
  std::string_view name = {};         // Names of nested objects are joined: "net/depth".
  std::string_view text = {};         // A string as it is; any other value as JSON.
  std::optional<double> number = {};  // If it is a JSON number.
  bool is_text = false;               // If it is a JSON string.
};

struct RunFacts {
  std::string_view name;
  std::string_view display_name;  // Empty, as the note: it has none.
  std::string_view note;
  std::int64_t update_us = 0;  // Microseconds since 1970.
  std::uint64_t bytes = 0;     // Size of its files.
  std::uint64_t files = 0;
  CacheState state = CacheState::kNotCached;
  // Nothing: not known (yet). A run that never had any has empty ones.
  std::optional<std::span<const std::string>> labels;
  // Parameters that are known without its files. Sorted by name.
  std::optional<std::span<const ConfigFacts>> config;

  // False: the files were not read yet, so that what is below is not known.
  bool counted = false;
  std::uint64_t points = 0;               // Points of all scalar tags.
  std::uint64_t faults = 0;               // Records that could not be read.
  std::optional<std::int64_t> last_step;  // The largest of all tags; nothing without points.
  std::span<const TagFacts> tags;         // Sorted by name.
  // Parameters of the plugin "hparams", whose names count where `config` has none. Sorted by name.
  std::span<const ConfigFacts> hparams;
  bool may_have_more_hparams = false;  // A run below this one has not been read.
};

}  // namespace datamanager

#endif  // DATAMANAGER_QUERY_RUN_FACTS_H_
