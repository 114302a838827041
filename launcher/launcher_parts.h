#ifndef LAUNCHER_LAUNCHER_PARTS_H_
#define LAUNCHER_LAUNCHER_PARTS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "bus/service_process.h"

namespace launcher {

// What the launcher's process is made of: the job table, the keeper of the other services, and
// their methods, counters and events. Create it before ServiceProcess::Run(), which outlives it;
// the jobs and services go on when it is destroyed.
class LauncherParts {
 public:
  // `external`: somebody else starts the other services.
  static absl::StatusOr<std::unique_ptr<LauncherParts>> Create(bus::ServiceProcess* process,
                                                               bool external);
  virtual ~LauncherParts() = default;
};

}  // namespace launcher

#endif  // LAUNCHER_LAUNCHER_PARTS_H_
