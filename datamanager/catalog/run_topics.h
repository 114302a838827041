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

// The first `position` points of this generation are known.
struct PointPosition {
  std::uint64_t generation = 0;
  std::uint64_t position = 0;
};

// Some points of a tag, in file order.
struct PointRange {
  std::string run;
  std::string tag;
  std::uint64_t generation = 0;
  std::uint64_t first = 0;  // So many points of the tag come before them.
  std::vector<Point> points;
  bool passed = false;  // All are from before `since`: `first` is their number.
};

// The runs as topics `m/RUN/TAG/`, and their points by position. Reads no files. Any thread may
// call any method; none waits longer than for one step of reading a run.
class RunTopics {
 public:
  // Neither is owned.
  RunTopics(const RunTable* table, RunLoader* loader) : table_(*table), loader_(*loader) {}

  // The topics that begin with `prefix` and come after `after`, in their order, with the generation
  // of their run and how many points each has, until `visit` returns false. Unavailable if a run is
  // not counted yet, with the progress; it is counted before others then. `visit` runs while the
  // run is locked.
  absl::Status VisitTopics(
      std::string_view prefix, std::string_view after,
      const std::function<bool(const std::string& topic, std::uint64_t generation,
                               std::uint64_t points)>& visit);
  // At most `limit` points of the tag with this topic behind the known ones; what is known of
  // another generation means nothing. A tag that has got its last one before `since` (seconds since
  // 1970) is not read for the rest. No points if there are no further ones, or no such topic.
  // Unavailable: the run has to be read for them; `wait_for` says what is to be waited for.
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
