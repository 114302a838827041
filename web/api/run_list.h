#ifndef WEB_API_RUN_LIST_H_
#define WEB_API_RUN_LIST_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bus/call/client.h"
#include "nlohmann/json.hpp"
#include "runtime/clock.h"

namespace web {

// Selects a part of the table of runs.
struct RunsQuestion {
  std::string query = {};
  std::string sort = {};                  // "-loss"; empty: the newest first.
  std::vector<std::string> columns = {};  // See bus/json/run_rows.h.
  std::size_t first = 0;                  // Counted from 0, of the sorted rows.
  std::size_t limit = 100;                // At most kMostRows.
};
inline constexpr std::size_t kMostRows = 1'000;
inline constexpr std::size_t kMostRunColumns = 32;

// The table of runs, asked of the data manager and the trainer. A user who scrolls asks for part
// after part of the same table, so the table is kept for a moment. Any thread may call this;
// blocks.
class RunList {
 public:
  struct Options {
    bus::Client* client = nullptr;  // Not owned.
    runtime::Clock* clock = runtime::Clock::Real();
    absl::Duration keep = absl::Milliseconds(500);
  };
  static std::unique_ptr<RunList> Create(Options options);
  virtual ~RunList() = default;

  // {"total": all runs, "match": runs that match the query, "undecided": runs for which the query
  // cannot be answered yet, "logdir": ..., "first": N, "rows": [...]}. Errors are those of the data
  // manager; without a trainer, rows have no states of trials, and "missing" names it.
  virtual absl::StatusOr<nlohmann::json> Read(const RunsQuestion& question) = 0;
};

}  // namespace web

#endif  // WEB_API_RUN_LIST_H_
