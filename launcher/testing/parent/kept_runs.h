#ifndef LAUNCHER_TESTING_PARENT_KEPT_RUNS_H_
#define LAUNCHER_TESTING_PARENT_KEPT_RUNS_H_

#include <memory>

#include "launcher/testing/parent/children.h"

namespace launcher::testing {

// Runs that may outlive their owners. Both functions are thread-safe.

// Keeps a run alive until it has ended. At the exit, this process waits for it, or kills it if it
// is a daemon.
void KeepRun(const std::shared_ptr<Children>& run);
// Called when its owner no longer needs the run: it is dropped once it has ended, which every
// ReleaseRun() checks. If the run is a daemon, kills it and waits until all its processes have
// ended.
void ReleaseRun(const std::shared_ptr<Children>& run);

}  // namespace launcher::testing

#endif  // LAUNCHER_TESTING_PARENT_KEPT_RUNS_H_
