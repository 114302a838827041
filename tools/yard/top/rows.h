#ifndef TOOLS_YARD_TOP_ROWS_H_
#define TOOLS_YARD_TOP_ROWS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tools/yard/top/facts.h"

namespace yard::top {

// A line of the table: a sweep, a trial, a job that is no trial's, or one task of several.
struct TableRow {
  enum class Kind { kTrial, kJob, kTask, kSweep };

  Kind kind = Kind::kTrial;
  std::string id = {};  // "j-abcde/worker-1" for a task.
  std::string name = {};
  std::string state = {};
  bool has_ended = false;
  bool has_failed = false;
  std::optional<absl::Duration> age = {};
  std::optional<double> cores = {};
  std::optional<std::uint64_t> memory_bytes = {};
  std::optional<double> disk_bytes_per_s = {};  // Read and written.
  std::optional<double> gpu_percent = {};       // 100 for each of its GPUs.
  std::uint32_t restarts = 0;
  std::string note = {};     // Why it waits or has ended.
  std::string metrics = {};  // A JSON object; of a trial.
  std::string words = {};    // In which a filter looks, in lower case.
  std::string title = {};    // Names the thing whose output it is.
  Subject subject = {};
};

// All rows, a thing's tasks behind it. A thing with one task has no row for it.
std::vector<TableRow> RowsOf(const Facts& facts);

// Names of the numbers in a trial's metrics.
std::vector<std::string> MetricNames(const std::string& metrics);
// The one to show: `wanted` if it is there, else "loss", else the first one that is not a counter.
// Empty if all metrics are counters.
std::string MetricToShow(const std::string& metrics, const std::string& wanted);
// Values of the metric in these reports; NaN where a report lacks it.
std::vector<double> ValuesOf(const std::vector<msg::ResultRowT>& reports,
                             const std::string& metric);

}  // namespace yard::top

#endif  // TOOLS_YARD_TOP_ROWS_H_
