#ifndef DATAMANAGER_TENSORBOARD_RUN_ACCESS_H_
#define DATAMANAGER_TENSORBOARD_RUN_ACCESS_H_

#include <functional>
#include <string>

#include "absl/time/time.h"
#include "datamanager/catalog/run_catalog.h"
#include "datamanager/catalog/run_source.h"
#include "datamanager/read/run_data.h"
#include "datamanager/tensorboard/provider_messages.h"
#include "eventlog/event.h"

namespace datamanager::tensorboard {

// Reads runs one at a time, each under its lock; `use` must be quick. Any thread.
class RunAccess {
 public:
  using View = RunSource::View;
  // Receives the data of a run while the run is locked.
  using ReadFunction = std::function<void(const View& view)>;

  // The limits of how long a list waits, and a read for all its runs. `catalog` is not owned.
  RunAccess(RunCatalog* catalog, absl::Duration list_patience, absl::Duration read_patience)
      : catalog_(*catalog), list_patience_(list_patience), read_patience_(read_patience) {}

  RunCatalog& catalog() const { return catalog_; }
  // Deadlines for ReadAll().
  absl::Duration ListDeadline() const { return catalog_.Monotonic() + list_patience_; }
  absl::Duration ReadDeadline() const { return catalog_.Monotonic() + read_patience_; }

  // Waits until the runs are known, at most for list_patience.
  void AwaitScan() const { catalog_.AwaitScan(list_patience_); }
  // Calls `use` with the data in memory; does not call it if there is no data yet.
  void ReadKnown(const std::string& run, const ReadFunction& use) const;
  // Calls `use` with all points of the run or, at `deadline`, with the points read by then.
  void ReadAll(const std::string& run, absl::Duration deadline, const ReadFunction& use) const;

 private:
  RunCatalog& catalog_;
  const absl::Duration list_patience_;
  const absl::Duration read_patience_;
};

// True if the run has a summary file of MindSpore.
bool HasMindSpore(const ListedRun& run);

// Calls `use` with each requested tag, by name. Names of tags are any bytes in the catalog but
// UTF-8 in a message: filters are compared with the names that a list has reported.
void ForEachTag(const RunSource::View& view, const SeriesRequest& request,
                eventlog::DataClass data_class,
                const std::function<void(RunData::TagId, const RunData::Tag&)>& use);

}  // namespace datamanager::tensorboard

#endif  // DATAMANAGER_TENSORBOARD_RUN_ACCESS_H_
