#ifndef LAUNCHER_JOB_SHARED_CALLERS_H_
#define LAUNCHER_JOB_SHARED_CALLERS_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "launcher/job/from_caller.h"

namespace launcher {

// Keeps one copy of what jobs have from the same caller, as most jobs are launched from the same
// few shells. One thread.
class SharedCallers {
 public:
  // How many of the callers that came last a new one is compared with.
  static constexpr std::size_t kMostCompared = 16;

  // The copy lives as long as somebody has it.
  std::shared_ptr<const FromCaller> Share(FromCaller caller);

 private:
  std::vector<std::weak_ptr<const FromCaller>> callers_;  // The last one last.
};

}  // namespace launcher

#endif  // LAUNCHER_JOB_SHARED_CALLERS_H_
