#ifndef LAUNCHER_TESTING_PARENT_KEPT_RUNS_H_
#define LAUNCHER_TESTING_PARENT_KEPT_RUNS_H_

#include <memory>

#include "launcher/testing/parent/children.h"

namespace launcher::testing {

// Runs that may outlive whoever has started them. Any thread may call both.

// The run is kept, and waited for at the exit of this process (killed there if it is a daemon),
// until it is over.
void KeepRun(const std::shared_ptr<Children>& run);
// Its owner is done with it: no longer kept once it is over, which is looked for at every release.
// If the run is a daemon, kills it and waits until all its processes are gone.
void ReleaseRun(const std::shared_ptr<Children>& run);

}  // namespace launcher::testing

#endif  // LAUNCHER_TESTING_PARENT_KEPT_RUNS_H_
