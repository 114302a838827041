#ifndef LAUNCHER_JOB_FROM_CALLER_H_
#define LAUNCHER_JOB_FROM_CALLER_H_

#include <string>
#include <vector>

#include "bus/schema/launcher_generated.h"
#include "launcher/wire/shim_protocol.h"

namespace launcher {

// The properties that a job's tasks inherit from the process that launched the job. They are most
// of a spec's bytes, and the same for many jobs.
struct FromCaller {
  std::vector<std::string> environment = {};  // "NAME=value", complete.
  CallersProcess process = {};

  bool operator==(const FromCaller&) const = default;
};

// Moves these properties out of `spec` and returns them.
FromCaller TakeFromCaller(msg::JobSpecT* spec);

}  // namespace launcher

#endif  // LAUNCHER_JOB_FROM_CALLER_H_
