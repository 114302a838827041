#ifndef DATAMANAGER_CATALOG_CATALOG_OPTIONS_H_
#define DATAMANAGER_CATALOG_CATALOG_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "datamanager/catalog/run_indexes.h"
#include "datamanager/series/columns.h"
#include "runtime/clock.h"

namespace datamanager {

// Receives new points of one tag, in file order; `first` points of the tag preceded them in this
// generation of the run. Called while the run is locked, so that calls for one tag are in order;
// other threads can read the points once it returns (it must not read them itself).
using OnPoints =
    std::function<void(const std::string& run, const std::string& tag, std::uint64_t generation,
                       std::uint64_t first, const std::vector<Point>& points)>;

// Settings of a RunCatalog, and of its RunLoader.
struct CatalogOptions {
  std::string root;
  // Memory limit for points, and for the facts about runs that stay in memory without them.
  std::uint64_t byte_budget = kUnknownBudget;
  int load_threads = 1;  // 1..LoadScheduler::kMaxThreads.
  int open_files = 16;   // Limit of event files open at once.
  // Bytes of a run's files that one step reads.
  std::uint64_t step_bytes = std::uint64_t{4} << 20;
  std::uint64_t part_bytes = std::uint64_t{4} << 20;  // Size of the parts of large files; see
                                                      // RunFilesReader.
  // Called once for each point that is new after its run was first counted; for runs that appear
  // after the first scan, for every point. Each call continues where the tag's last call ended,
  // unless the run's generation has increased: its points then start again at 0. May be empty.
  OnPoints on_points = {};
  RunIndexes* indexes = nullptr;  // Not owned; null: no indexes. They serve runs that the first
                                  // scan finds.
  runtime::Clock* clock = runtime::Clock::Real();  // Not owned.

  static constexpr std::uint64_t kUnknownBudget = std::uint64_t{256} << 20;
};

}  // namespace datamanager

#endif  // DATAMANAGER_CATALOG_CATALOG_OPTIONS_H_
