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

// New points of one tag, in file order; `first` points of it came before them in this generation
// of the run. Runs while the run is locked, so calls for one tag come in order, and the points
// can be read by everybody else when it returns (not from within it).
using OnPoints =
    std::function<void(const std::string& run, const std::string& tag, std::uint64_t generation,
                       std::uint64_t first, const std::vector<Point>& points)>;

// Settings of a RunCatalog, and of its RunLoader.
struct CatalogOptions {
  std::string root;
  // For points, and for what is known of runs without them, which stays.
  std::uint64_t byte_budget = kUnknownBudget;
  int load_threads = 1;  // 1..LoadScheduler::kMaxThreads.
  int open_files = 16;   // Event files, at once.
  std::uint64_t step_bytes = std::uint64_t{4} << 20;
  std::uint64_t part_bytes = std::uint64_t{4} << 20;  // Size of the parts of large files, see
                                                      // RunFilesReader.
  // Called once for each point that was not there yet when its run was counted for the first
  // time; of runs that come after the first scan, for each. Each call goes on where the last one
  // of the tag ended, unless the generation of the run has risen: then its points begin again at
  // 0. May be empty.
  OnPoints on_points = {};
  RunIndexes* indexes = nullptr;  // Not owned; null: no indexes. They serve runs that the first
                                  // scan finds.
  runtime::Clock* clock = runtime::Clock::Real();  // Not owned.

  static constexpr std::uint64_t kUnknownBudget = std::uint64_t{256} << 20;
};

}  // namespace datamanager

#endif  // DATAMANAGER_CATALOG_CATALOG_OPTIONS_H_
