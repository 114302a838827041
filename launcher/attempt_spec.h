#ifndef LAUNCHER_ATTEMPT_SPEC_H_
#define LAUNCHER_ATTEMPT_SPEC_H_

#include <cstdint>
#include <string>
#include <vector>

#include "launcher/cluster.h"
#include "launcher/job_row.h"
#include "launcher/process_limit.h"
#include "launcher/shim_protocol.h"
#include "runtime/locations.h"

namespace launcher {

// What is the same for all that one launcher starts.
struct AttemptHost {
  runtime::Locations locations;
  // Of every task that does not ask for a limit of that name.
  std::vector<ProcessLimit> limits;
  std::uint64_t own_start_ticks = 0;  // Of this process, which daemon jobs do not outlive.
  // Who was given no GPU sees none.
  bool hides_gpus = false;
};

// What a shim is told to do for an attempt of a task. `environment` is the job's own, which is kept
// outside of its row; YARD_CALLER in it (of `yard run` and `yard launch`) is taken out and says
// what else the task has from its caller: "umask=22;nice=0;cpus=0-3;core=0:unlimited;...", any
// limit as ProcessLimit has it. `plan` is PlanTasks() of the row.
ShimSpec AttemptSpec(const AttemptHost& host, const JobRow& row,
                     const std::vector<std::string>& environment, const ClusterPlan& plan, int task,
                     int attempt);

// What asks the tasks of a job to end.
int StopSignalOf(const msg::JobSpecT& spec);

}  // namespace launcher

#endif  // LAUNCHER_ATTEMPT_SPEC_H_
