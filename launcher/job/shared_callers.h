#ifndef LAUNCHER_JOB_SHARED_CALLERS_H_
#define LAUNCHER_JOB_SHARED_CALLERS_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "launcher/job/from_caller.h"

namespace launcher {

// Shares one FromCaller between all jobs of the same caller, since most jobs are launched from the
// same few shells. Not thread-safe.
class SharedCallers {
 public:
  // Number of the latest callers that a new one is compared with.
  static constexpr std::size_t kMostCompared = 16;

  // Returns a shared copy of `caller`, which lives as long as it is referenced.
  std::shared_ptr<const FromCaller> Share(FromCaller caller);

 private:
  std::vector<std::weak_ptr<const FromCaller>> callers_;  // The latest caller is the last.
};

}  // namespace launcher

#endif  // LAUNCHER_JOB_SHARED_CALLERS_H_
