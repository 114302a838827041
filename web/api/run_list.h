#ifndef WEB_API_RUN_LIST_H_
#define WEB_API_RUN_LIST_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bus/call/client.h"
#include "bus/json/run_rows.h"
#include "bus/schema/datamanager_generated.h"
#include "nlohmann/json.hpp"
#include "runtime/clock.h"
#include "runtime/mutex.h"

namespace web {

// Selects a part of the table of runs.
struct RunsQuestion {
  std::string query = {};
  std::string sort = {};                  // "-loss"; empty for newest first.
  std::vector<std::string> columns = {};  // See bus/json/run_rows.h.
  std::size_t first = 0;                  // Index of the first row, from 0, after sorting.
  std::size_t limit = 100;                // At most kMostRows.
};
inline constexpr std::size_t kMostRows = 1'000;
inline constexpr std::size_t kMostRunColumns = 32;

// The table of runs, read from the data manager and the trainer. A user who scrolls requests one
// part of the same table after another, so recent tables are cached for `keep`. Thread-safe;
// blocks.
class RunList {
 public:
  struct Options {
    bus::Client* client = nullptr;  // Not owned.
    runtime::Clock* clock = runtime::Clock::Real();
    absl::Duration keep = absl::Milliseconds(500);
  };
  explicit RunList(Options options) : options_(options) {}

  // Returns {"total": all runs, "match": runs that match the query, "undecided": runs for which the
  // query cannot be decided yet, "logdir": ..., "first": N, "rows": [...]}. Errors are those of the
  // data manager; without a trainer, rows lack the trials' states, and "missing" names it.
  absl::StatusOr<nlohmann::json> Read(const RunsQuestion& question);

 private:
  // A sorted table, or the requested part of it; immutable.
  struct Table {
    std::vector<bus::RunColumn> columns;
    std::vector<bus::RunRow> rows;
    std::size_t first = 0;  // Number of rows before these.
    std::uint64_t match = 0;
    std::string logdir;
    std::uint64_t total = 0;
    std::uint64_t undecided = 0;
    bool has_trainer = false;
  };
  struct Kept {
    std::string key;
    absl::Duration read_at;
    std::shared_ptr<const Table> table;
  };

  static absl::Status ReadRuns(bus::Client& client, msg::RunsRequestT request, Table& table);
  absl::StatusOr<std::shared_ptr<const Table>> ReadTable(const RunsQuestion& question) const;
  std::shared_ptr<const Table> Find(const std::string& key);
  void Keep(const std::string& key, std::shared_ptr<const Table> table);

  const Options options_;
  runtime::Mutex mutex_;
  std::deque<Kept> kept_ ABSL_GUARDED_BY(mutex_);  // Oldest first.
};

}  // namespace web

#endif  // WEB_API_RUN_LIST_H_
