#ifndef TOOLS_YARD_TOP_TABLE_ROWS_H_
#define TOOLS_YARD_TOP_TABLE_ROWS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tools/yard/top/facts.h"

namespace yard::top {

// A row of the table: a sweep, a trial, a job without a trial, or one of several tasks.
struct TableRow {
  enum class Kind { kTrial, kJob, kTask, kSweep };

  Kind kind = Kind::kTrial;
  std::string id = {};  // For a task: "j-abcde/worker-1".
  std::string name = {};
  std::string state = {};
  bool has_ended = false;
  bool has_failed = false;
  std::optional<absl::Duration> age = {};
  std::optional<double> cores = {};
  std::optional<std::uint64_t> memory_bytes = {};
  std::optional<double> disk_bytes_per_s = {};  // Read plus written.
  std::optional<double> gpu_percent = {};       // 100 for each of its GPUs.
  std::uint32_t restarts = 0;
  std::string note = {};     // Why it waits or has ended.
  std::string metrics = {};  // For a trial: a JSON object.
  std::string words = {};    // Text that the filter searches, in lower case.
  std::string title = {};    // Names the thing whose output is shown.
  Subject subject = {};
};

// Returns all rows, each followed by its tasks. A thing with a single task has no row for it.
std::vector<TableRow> RowsOf(const Facts& facts);

// Returns the names of numeric metrics of a trial.
std::vector<std::string> MetricNames(const std::string& metrics);
// Returns the metric to show: `wanted` if it exists, else "loss", else the first that is not a
// counter; empty if all are counters.
std::string MetricToShow(const std::string& metrics, const std::string& wanted);
// Returns the metric's value in each report; NaN where it is missing.
std::vector<double> ValuesOf(const std::vector<msg::ResultRowT>& reports,
                             const std::string& metric);

}  // namespace yard::top

#endif  // TOOLS_YARD_TOP_TABLE_ROWS_H_
