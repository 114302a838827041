#ifndef DATAMANAGER_CATALOG_RUN_TOPICS_H_
#define DATAMANAGER_CATALOG_RUN_TOPICS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "datamanager/catalog/run_loader.h"
#include "datamanager/catalog/run_source.h"
#include "datamanager/catalog/run_table.h"
#include "datamanager/series/columns.h"

namespace datamanager {

// The caller knows the first `position` points of this generation.
struct PointPosition {
  std::uint64_t generation = 0;
  std::uint64_t position = 0;
};

// Some points of a tag, in file order.
struct PointRange {
  std::string run;
  std::string tag;
  std::uint64_t generation = 0;
  std::uint64_t first = 0;  // Number of the tag's points before them.
  std::vector<Point> points;
  bool passed = false;  // Skipped: `first` points are all older than `since`.
};

// The runs as topics `m/RUN/TAG/`, and their points by position. Reads no files. Any thread may
// call any method; none waits longer than one step of reading a run.
class RunTopics {
 public:
  // Owns neither argument.
  RunTopics(const RunTable* table, RunLoader* loader) : table_(*table), loader_(*loader) {}

  // Calls `visit` for the topics that begin with `prefix` and come after `after`, in order, with
  // the generation of their run and their number of points, until `visit` returns false.
  // Unavailable, with the progress, if a run is not counted yet; the run is then counted with
  // priority. `visit` runs while the run is locked.
  absl::Status VisitTopics(
      std::string_view prefix, std::string_view after,
      const std::function<bool(const std::string& topic, std::uint64_t generation,
                               std::uint64_t points)>& visit);
  // Returns at most `limit` points of the topic's tag after the known ones; known positions of
  // another generation are ignored. If a tag's last point is older than `since` (seconds since
  // 1970), its points are skipped without reading them. Returns no points if no more exist, or the
  // topic does not. Unavailable: the run must be read first; pass `wait_for` to WhenReady().
  absl::StatusOr<PointRange> PointsAfter(std::string_view topic,
                                         std::span<const PointPosition> known, std::size_t limit,
                                         std::optional<RunSource::Request>* wait_for,
                                         double since = 0);

 private:
  const RunTable& table_;
  RunLoader& loader_;
};

}  // namespace datamanager

#endif  // DATAMANAGER_CATALOG_RUN_TOPICS_H_
