#ifndef DATAMANAGER_CATALOG_RUN_REMOVAL_H_
#define DATAMANAGER_CATALOG_RUN_REMOVAL_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/clock.h"

namespace datamanager {

// Removes runs from the disk, into a trash folder. (MindInsight only forgets a run.)

// A run in the catalog.
struct RemovableRun {
  std::string name;            // Below the run directory, "/" separated.
  std::string directory;       // Absolute.
  std::int64_t update_us = 0;  // Microseconds since 1970.
  std::uint64_t generation = 0;
};

// A trial of the trainer.
struct TrialPlace {
  std::string id;
  std::string directory;  // Absolute.
  bool has_ended = false;
};

struct RunRemovalRequest {
  std::string run;  // The full name.
  // A repeated request with the same id returns the first result, even after a crash in between.
  std::string request_id;
  std::uint64_t generation = 0;  // 0: any.
  bool nested = false;           // Also removes the runs below it.
  bool force = false;            // Also if the trainer does not answer.
};

struct RunRemovalOptions {
  std::string logdir;  // Absolute.
  // Returns all runs; its error becomes the removal's.
  std::function<absl::StatusOr<std::vector<RemovableRun>>()> runs;
  // Asks the trainer for its trials; may block.
  std::function<absl::StatusOr<std::vector<TrialPlace>>()> trials;
  const runtime::Clock* clock = runtime::Clock::Real();  // Must outlive the call.
};

// Moves the run's directory to LOGDIR/.trash/NAME-REQUEST, where NAME is the last part of its name
// and REQUEST the first eight characters of the request's id, and returns the new path. Any thread;
// blocks for the disk and the trainer.
//
// Errors, which leave everything unchanged: NotFound if the run does not exist. FailedPrecondition
// if the run is the run directory itself, has another generation, has runs below it without
// `nested`, belongs to a trial (which the trainer removes), is part of a trial that has not ended,
// contains a trial's run, or was written within the last second; or if the trainer does not answer
// and `force` is not set.
absl::StatusOr<std::string> RemoveRun(const RunRemovalOptions& options,
                                      const RunRemovalRequest& request);

}  // namespace datamanager

#endif  // DATAMANAGER_CATALOG_RUN_REMOVAL_H_
