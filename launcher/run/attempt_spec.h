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
  // Limits of every task that does not ask for a limit of that name.
  std::vector<ProcessLimit> limits;
  std::uint64_t own_start_ticks = 0;  // Start ticks of this process, which daemon jobs do not
                                      // outlive.
  // A task that was given no GPU sees none (unless its job has share_sets).
  bool hides_gpus = false;
};

// The spec that a shim gets for an attempt of a task. `caller` is kept outside of the job's row.
// `plan` is PlanTasks() of the row.
ShimSpec AttemptSpec(const AttemptHost& host, const JobRow& row, const FromCaller& caller,
                     const ClusterPlan& plan, int task, int attempt);

// The signal that asks the tasks of a job to end.
int StopSignalOf(const msg::JobSpecT& spec);

}  // namespace launcher

#endif  // LAUNCHER_RUN_ATTEMPT_SPEC_H_
