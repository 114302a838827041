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

// Facts of one run. Any bytes in the names.
struct ComparedRun {
  struct Metric {
    double last = std::numeric_limits<double>::quiet_NaN();
    double min = std::numeric_limits<double>::quiet_NaN();
    double max = std::numeric_limits<double>::quiet_NaN();
  };
  std::string name;
  std::map<std::string, std::string> said;    // "label", "name", "note"; values are JSON.
  std::map<std::string, std::string> config;  // Values are JSON; what is none is a string.
  std::map<std::string, Metric> metrics;      // By tag.
};

// One thing, in all runs.
struct ComparisonRow {
  // As in a query about runs: "config.lr", "loss" for the last value, "min:loss", "max:loss"; or
  // what people say: "label:", "name:", "note:".
  std::string name;
  // JSON, one for each run; nothing where a run does not have it.
  std::vector<std::optional<std::string>> values;
  bool differs = false;  // In at least two runs, if only because one does not have it.
};

struct RunComparison {
  std::vector<std::string> runs;
  // Rows that differ, or all: annotations, the configuration, the metrics, by name.
  std::vector<ComparisonRow> rows;
  std::size_t same_config = 0;   // How much is the same in all runs, whether or not it is shown.
  std::size_t same_metrics = 0;  // Number of rows for metrics that are the same.
};

// Numbers are the same if they are equal (1 and 1.0 are, NaN and NaN are), lists and objects if all
// in them is; the order of an object's members does not matter.
RunComparison CompareRuns(std::span<const ComparedRun> runs, bool all);

// So many runs are lines of a ComparisonTable, not columns: the eye goes down a list of runs.
inline constexpr std::size_t kRunsAsRows = 4;
// For a terminal of `width` columns (0: any): a line for each row, a column for each run, or, from
// kRunsAsRows runs on, a line for each run; in as many blocks of columns as it takes. Numbers are
// rounded and long values cut in the middle, unless values of the row that differ would look alike.
// "-" is what a run does not have. Each block has at least one column. Empty without rows.
std::string ComparisonTable(const RunComparison& comparison, std::size_t width);

// Runs with the same value of a parameter, as one: such as differ in their seeds alone.
struct RunGroup {
  std::optional<std::string> value;  // JSON; nothing: runs without the parameter.
  std::vector<std::string> runs;
};
// The last values of a metric: their mean and standard deviation (of a sample) in each group.
struct GroupedMetric {
  struct Figures {
    std::size_t runs = 0;  // That have a finite value.
    double mean = std::numeric_limits<double>::quiet_NaN();
    double deviation = std::numeric_limits<double>::quiet_NaN();  // NaN with less than two.
  };
  std::string tag;
  std::vector<Figures> groups;
};
struct GroupComparison {
  std::string parameter;         // "config.lr"
  std::vector<RunGroup> groups;  // By value: numbers by size, then texts.
  std::vector<GroupedMetric> metrics;
};
// `parameter` is "config.lr" or "lr". InvalidArgument: no run has it.
absl::StatusOr<GroupComparison> CompareGroups(std::span<const ComparedRun> runs,
                                              const std::string& parameter);
// As ComparisonTable: a line a metric, a column a group.
std::string GroupTable(const GroupComparison& comparison);
// {"name":TAG,"group":"config.lr","value":VALUE,"runs":[RUN...],"mean":M,"deviation":D}, one a
// group and metric.
std::vector<nlohmann::json> GroupsToJson(const GroupComparison& comparison);

// {"name":...,"values":{RUN:VALUE}}, with null for what a run does not have.
nlohmann::json RowToJson(const RunComparison& comparison, const ComparisonRow& row);

}  // namespace yard

#endif  // TOOLS_YARD_RUN_RUN_COMPARISON_H_
