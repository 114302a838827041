#ifndef TOOLS_YARD_JOB_FLEET_PLAN_H_
#define TOOLS_YARD_JOB_FLEET_PLAN_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bus/schema/launcher_generated.h"
#include "tools/yard/job/fleet_file.h"

namespace yard {

// The steps by which `yard apply` makes the jobs of a yard those of a file.

struct FleetStep {
  // kKeep: it is as it should be. kLeave: the file names it no more, and nobody has asked to stop
  // those.
  enum class Action { kStart, kRestart, kStop, kKeep, kLeave };
  Action action = Action::kKeep;
  std::string name;
  std::string why;          // In words: "is new", "changed: command, liveness".
  std::string id;           // Id of the job in the yard; empty if the yard has none of that name.
  FleetJob* job = nullptr;  // The fleet has it; null for kStop and kLeave.
};
// "start"
const char* NameOf(FleetStep::Action action);

// Pure. `known` are all jobs of the yard, with what they were applied from. A job belongs to the
// file that `applied_from` names, or to any if that is no more (`exists`). Those to stop come
// first, the others in the order of the fleet. AlreadyExists: a live job has a name of the fleet
// and is not the file's.
absl::StatusOr<std::vector<FleetStep>> PlanFleet(
    Fleet& fleet, const std::vector<const msg::JobT*>& known, bool prune,
    const std::function<bool(const std::string& path)>& exists);

// The keys in which two applied texts differ: "command, tasks.worker.count". "its file" if one of
// them cannot be read.
std::string Differences(const std::string& before, const std::string& after);

}  // namespace yard

#endif  // TOOLS_YARD_JOB_FLEET_PLAN_H_
