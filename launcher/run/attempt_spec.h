#ifndef LAUNCHER_RUN_ATTEMPT_SPEC_H_
#define LAUNCHER_RUN_ATTEMPT_SPEC_H_

#include <cstdint>
#include <vector>

#include "launcher/job/cluster.h"
#include "launcher/job/from_caller.h"
#include "launcher/job/job_row.h"
#include "launcher/wire/process_limit.h"
#include "launcher/wire/shim_protocol.h"
#include "runtime/file/locations.h"

namespace launcher {

// Settings that are the same for all attempts of one launcher.
struct AttemptHost {
  runtime::Locations locations;
  // Process limits that apply unless the task sets a limit of the same name.
  std::vector<ProcessLimit> limits;
  // Start ticks of this process, which go into the specs of daemon jobs: a daemon does not outlive
  // the launcher.
  std::uint64_t own_start_ticks = 0;
  // A task that was granted no GPU sees none (unless its job has share_sets).
  bool hides_gpus = false;
};

// Makes the spec that the shim gets for an attempt of a task. `caller` is not part of the job's
// row. `plan` is PlanTasks() of the row.
ShimSpec AttemptSpec(const AttemptHost& host, const JobRow& row, const FromCaller& caller,
                     const ClusterPlan& plan, int task, int attempt);

// Returns the signal that asks the tasks of a job to end.
int StopSignalOf(const msg::JobSpecT& spec);

}  // namespace launcher

#endif  // LAUNCHER_RUN_ATTEMPT_SPEC_H_
