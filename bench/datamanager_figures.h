#ifndef BENCH_DATAMANAGER_FIGURES_H_
#define BENCH_DATAMANAGER_FIGURES_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bench/event_files.h"

namespace bench {

// Measurements of the data manager, each with a process of its own in a yard of its own. All counts
// are checked: a measurement that misses a run or a point is an error and gives no figure. Times
// are those of the calls over the bus.

// Event files in a folder of their own, which is removed with it. Written when they are first
// asked for.
class EventFolder {
 public:
  explicit EventFolder(EventFilesOptions options) : options_(options) {}
  ~EventFolder();
  EventFolder(const EventFolder&) = delete;
  EventFolder& operator=(const EventFolder&) = delete;

  absl::StatusOr<std::string> Path();
  const EventFilesOptions& options() const { return options_; }
  // Once there is a Path().
  const EventFilesWritten& written() const { return written_; }

 private:
  const EventFilesOptions options_;
  std::string path_;
  EventFilesWritten written_;
};

// A new data manager with this many threads (0: one a core) reads every point into memory.
struct LoadFigures {
  absl::Duration since_exec, since_scan;  // From there to the answer that all is in memory.
  double records_per_second = 0;          // Since it began to look for runs.
  double grown_megabytes = 0;             // Resident memory, beside that of one that has no runs.
};
absl::StatusOr<LoadFigures> MeasureLoad(EventFolder& folder, int threads);

// A new data manager that finds so many runs: from its exec to the answer that counts all of them;
// and how long a look at everything takes when nothing has changed.
struct ListFigures {
  absl::Duration listed, unchanged;
};
absl::StatusOr<ListFigures> MeasureListing(int runs);

// The points of the run that would be read last, asked for as soon as a new data manager can name
// it: how long the answer takes, and what share of all files had been read by then.
struct AskedFigures {
  absl::Duration answered;
  double read_before = 0;
};
absl::StatusOr<AskedFigures> MeasureAsked(EventFolder& folder);

// 1,000 columns of the one tag in `folder`, in which one point is a spike that every answer must
// show: the median of so many answers.
absl::StatusOr<absl::Duration> MeasurePlot(EventFolder& folder, int answers);

// So many runs are followed. From a record in one of their files to its announcement on the bus;
// and how much of a core that takes when nothing happens.
struct FollowFigures {
  absl::Duration p50, p99;
  double idle_percent = 0;
};
absl::StatusOr<FollowFigures> MeasureFollowing(int runs, int appends, absl::Duration idle);

}  // namespace bench

#endif  // BENCH_DATAMANAGER_FIGURES_H_
