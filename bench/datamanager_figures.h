#ifndef BENCH_DATAMANAGER_FIGURES_H_
#define BENCH_DATAMANAGER_FIGURES_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bench/event_files.h"

namespace bench {

// Measurements of the data manager, each with a new process in a new yard. All counts are checked:
// a measurement that misses a run or a point is an error and gives no figure. Times are measured at
// the caller, over the bus.

// Event files in a temporary folder, which the destructor removes. They are written on first use.
class EventFolder {
 public:
  explicit EventFolder(EventFilesOptions options) : options_(options) {}
  ~EventFolder();
  EventFolder(const EventFolder&) = delete;
  EventFolder& operator=(const EventFolder&) = delete;

  absl::StatusOr<std::string> Path();
  const EventFilesOptions& options() const { return options_; }
  // Valid after Path().
  const EventFilesWritten& written() const { return written_; }

 private:
  const EventFilesOptions options_;
  std::string path_;
  EventFilesWritten written_;
};

// Starts a data manager with this many threads (0: one for each core), which reads every point into
// memory.
struct LoadFigures {
  absl::Duration since_exec, since_scan;  // Until the answer that everything is in memory.
  double records_per_second = 0;          // Since it began to look for runs.
  double grown_megabytes = 0;             // Resident memory beyond that of an idle one.
};
absl::StatusOr<LoadFigures> MeasureLoad(EventFolder& folder, int threads);

// Starts a data manager that finds `runs` runs. `listed`: from its exec to the answer that counts
// all of them; `unchanged`: duration of a scan when nothing has changed.
struct ListFigures {
  absl::Duration listed, unchanged;
};
absl::StatusOr<ListFigures> MeasureListing(int runs);

// Requests the points of the run that would be read last, as soon as a new data manager can name
// it: `answered` is the time to the answer, `read_before` the share of all files read by then.
struct AskedFigures {
  absl::Duration answered;
  double read_before = 0;
};
absl::StatusOr<AskedFigures> MeasureAsked(EventFolder& folder);

// Requests 1,000 columns of the only tag in `folder`, where one point is a spike that every answer
// must show. Returns the median of `answers` requests.
absl::StatusOr<absl::Duration> MeasurePlot(EventFolder& folder, int answers);

// Follows `runs` runs. `p50` and `p99`: from a record in one of their files to its announcement on
// the bus; `idle_percent`: processor time of a core when nothing happens.
struct FollowFigures {
  absl::Duration p50, p99;
  double idle_percent = 0;
};
absl::StatusOr<FollowFigures> MeasureFollowing(int runs, int appends, absl::Duration idle);

}  // namespace bench

#endif  // BENCH_DATAMANAGER_FIGURES_H_
