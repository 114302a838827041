#ifndef DATAMANAGER_QUERY_RUN_FACTS_H_
#define DATAMANAGER_QUERY_RUN_FACTS_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace datamanager {

// The facts about a run that a query may test: the input of run_query.h and run_selection.h. They
// are views into data of the caller, who must keep that data unchanged while they are used.

// Whether a run's points are in memory.
enum class CacheState : std::uint8_t { kNotCached, kCaching, kCached, kFailed };

struct TagFacts {
  std::string_view name;
  std::string_view plugin;
  // True: the tag has scalar points, and the numbers below are valid.
  bool scalar = false;
  double last = std::numeric_limits<double>::quiet_NaN();  // See ScalarSummary.
  // Over finite values; NaN if the tag has none of these.
  double min = std::numeric_limits<double>::quiet_NaN();
  double max = std::numeric_limits<double>::quiet_NaN();
};

// A parameter of a run (run_parameters.h).
struct ConfigFacts {
  std::string_view name = {};         // Nested names are joined: "net/depth".
  std::string_view text = {};         // A string unquoted; any other value as JSON.
  std::optional<double> number = {};  // Set for a JSON number.
  bool is_text = false;               // True for a JSON string.
};

struct RunFacts {
  std::string_view name;
  std::string_view display_name;  // May be empty, like the note.
  std::string_view note;
  std::int64_t update_us = 0;  // Microseconds since 1970.
  std::uint64_t bytes = 0;     // Total size of its files.
  std::uint64_t files = 0;
  CacheState state = CacheState::kNotCached;
  // Null: not known (yet). Empty for a run that has none.
  std::optional<std::span<const std::string>> labels;
  // Parameters that are known without the run's files. Sorted by name.
  std::optional<std::span<const ConfigFacts>> config;

  // False: the files were not read yet, so that the fields below are unknown.
  bool counted = false;
  std::uint64_t points = 0;               // Points of all scalar tags.
  std::uint64_t faults = 0;               // Unreadable records.
  std::optional<std::int64_t> last_step;  // The largest of all tags; null without points.
  std::span<const TagFacts> tags;         // Sorted by name.
  // Parameters of the plugin "hparams", used for names that `config` lacks. Sorted by name.
  std::span<const ConfigFacts> hparams;
  bool may_have_more_hparams = false;  // A run below this one was not read yet.
};

}  // namespace datamanager

#endif  // DATAMANAGER_QUERY_RUN_FACTS_H_
