#ifndef TOOLS_YARD_JOB_FLEET_PLAN_H_
#define TOOLS_YARD_JOB_FLEET_PLAN_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bus/schema/launcher_generated.h"
#include "tools/yard/job/fleet_file.h"

namespace yard {

// The steps by which `yard apply` makes the jobs of a yard equal to those of a file.

struct FleetStep {
  // kKeep: the job is up to date. kLeave: the file no longer has the job, but --prune was not
  // given.
  enum class Action { kStart, kRestart, kStop, kKeep, kLeave };
  Action action = Action::kKeep;
  std::string name;
  std::string why;          // Reason: "is new", "changed: command, liveness".
  std::string id;           // Id of the job in the yard; empty if it has no such job.
  FleetJob* job = nullptr;  // Job of the fleet; null for kStop and kLeave.
};
// Returns "start" and so on.
const char* NameOf(FleetStep::Action action);

// Returns the steps: first the jobs to stop, then the others in the order of the fleet. `known` are
// all jobs of the yard, with the texts they were applied from. A job belongs to the file in its
// `applied_from`, or to any fleet if that file no longer exists (`exists`). AlreadyExists if a live
// job has a name of the fleet but belongs to another file, or to none. Pure.
absl::StatusOr<std::vector<FleetStep>> PlanFleet(
    Fleet& fleet, const std::vector<const msg::JobT*>& known, bool prune,
    const std::function<bool(const std::string& path)>& exists);

// Returns the keys in which two applied texts differ: "command, tasks.worker.count"; "its file" if
// one of them cannot be parsed.
std::string Differences(const std::string& before, const std::string& after);

}  // namespace yard

#endif  // TOOLS_YARD_JOB_FLEET_PLAN_H_
