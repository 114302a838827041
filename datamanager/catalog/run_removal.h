#ifndef DATAMANAGER_CATALOG_RUN_REMOVAL_H_
#define DATAMANAGER_CATALOG_RUN_REMOVAL_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/clock.h"

namespace datamanager {

// Removal of runs from the disk, into a trash folder. (MindInsight only forgets a run.)

// A run as the catalog knows it.
struct RemovableRun {
  std::string name;            // Below the run directory, "/" separated.
  std::string directory;       // Absolute.
  std::int64_t update_us = 0;  // Microseconds since 1970.
  std::uint64_t generation = 0;
};

// A trial that the trainer knows.
struct TrialPlace {
  std::string id;
  std::string directory;  // Absolute.
  bool has_ended = false;
};

struct RunRemovalRequest {
  std::string run;  // The whole name.
  // The same one again finds what the first did, also after a crash in between.
  std::string request_id;
  std::uint64_t generation = 0;  // 0: any.
  bool nested = false;           // Also the runs below it.
  bool force = false;            // Also if nobody can say which trials there are.
};

struct RunRemovalOptions {
  std::string logdir;  // Absolute.
  // All of them; an error is the removal's.
  std::function<absl::StatusOr<std::vector<RemovableRun>>()> runs;
  // Asks the trainer; may block.
  std::function<absl::StatusOr<std::vector<TrialPlace>>()> trials;
  const runtime::Clock* clock = runtime::Clock::Real();  // Outlives the call.
};

// Moves the run's directory to LOGDIR/.trash/NAME-REQUEST, where NAME is the last part of its name
// and REQUEST the first eight characters of the request's id, and returns that place. Any
// thread; blocks for the disk and the trainer.
//
// NotFound: there is no such run. FailedPrecondition: it is the run directory itself, has another
// generation, has runs below it and `nested` is not set, belongs to a trial (which the trainer
// removes), is part of one that has not ended, holds a trial, or was written to within the last
// second; or the trainer does not answer and `force` is not set. Nothing has changed then.
absl::StatusOr<std::string> RemoveRun(const RunRemovalOptions& options,
                                      const RunRemovalRequest& request);

}  // namespace datamanager

#endif  // DATAMANAGER_CATALOG_RUN_REMOVAL_H_
