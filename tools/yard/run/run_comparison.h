#ifndef TOOLS_YARD_RUN_RUN_COMPARISON_H_
#define TOOLS_YARD_RUN_RUN_COMPARISON_H_

#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace yard {

// Facts about one run. Names may contain any bytes.
struct ComparedRun {
  struct Metric {
    double last = std::numeric_limits<double>::quiet_NaN();
    double min = std::numeric_limits<double>::quiet_NaN();
    double max = std::numeric_limits<double>::quiet_NaN();
  };
  std::string name;
  std::map<std::string, std::string> said;    // "label", "name", "note"; values are JSON.
  std::map<std::string, std::string> config;  // Values are JSON; invalid JSON is taken as a string.
  std::map<std::string, Metric> metrics;      // By tag.
};

// One property in all runs.
struct ComparisonRow {
  // Name as in a query about runs: "config.lr"; "loss" for the last value, "min:loss", "max:loss";
  // or an annotation: "label:", "name:", "note:".
  std::string name;
  // JSON value of each run; nothing if the run lacks the property.
  std::vector<std::optional<std::string>> values;
  bool differs = false;  // Not the same in all runs; a missing value counts as different.
};

struct RunComparison {
  std::vector<std::string> runs;
  // The differing rows, or all: annotations, then configuration, then metrics, by name.
  std::vector<ComparisonRow> rows;
  std::size_t same_config = 0;   // Number of equal configuration rows, shown or not.
  std::size_t same_metrics = 0;  // Number of equal rows of metrics.
};

// Compares the runs. Numbers are the same if they are equal (so are 1 and 1.0, and NaN and NaN),
// lists and objects if all their members are; the order of an object's members does not matter.
RunComparison CompareRuns(std::span<const ComparedRun> runs, bool all);

// From this many runs on, a ComparisonTable has a line for each run, because long lists read better
// down.
inline constexpr std::size_t kRunsAsRows = 4;
// Formats for a terminal of `width` columns (0 for unlimited): a line for each row and a column for
// each run, or, from kRunsAsRows runs on, a line for each run, in as many blocks of columns as
// needed. Rounds numbers and cuts long values in the middle, unless differing values would then
// look alike. "-" stands for a missing value. Each block has at least one column. Empty without
// rows.
std::string ComparisonTable(const RunComparison& comparison, std::size_t width);

// Runs that share the value of a parameter, for example those that differ only in their seeds.
struct RunGroup {
  std::optional<std::string> value;  // JSON; nothing for runs without the parameter.
  std::vector<std::string> runs;
};
// The last values of a metric: mean and sample standard deviation in each group.
struct GroupedMetric {
  struct Figures {
    std::size_t runs = 0;  // Number of runs with a finite value.
    double mean = std::numeric_limits<double>::quiet_NaN();
    double deviation = std::numeric_limits<double>::quiet_NaN();  // NaN for fewer than two.
  };
  std::string tag;
  std::vector<Figures> groups;
};
struct GroupComparison {
  std::string parameter;         // "config.lr"
  std::vector<RunGroup> groups;  // By value: numbers, then texts.
  std::vector<GroupedMetric> metrics;
};
// Groups by `parameter`, "config.lr" or "lr". InvalidArgument if no run has it.
absl::StatusOr<GroupComparison> CompareGroups(std::span<const ComparedRun> runs,
                                              const std::string& parameter);
// Like ComparisonTable(): a line for each metric, a column for each group.
std::string GroupTable(const GroupComparison& comparison);
// Returns one object for each group and metric:
// {"name":TAG,"group":"config.lr","value":VALUE,"runs":[RUN...],"mean":M,"deviation":D}.
std::vector<nlohmann::json> GroupsToJson(const GroupComparison& comparison);

// Returns {"name":...,"values":{RUN:VALUE}}, with null for missing values.
nlohmann::json RowToJson(const RunComparison& comparison, const ComparisonRow& row);

}  // namespace yard

#endif  // TOOLS_YARD_RUN_RUN_COMPARISON_H_
