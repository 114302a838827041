#ifndef TOOLS_YARD_JOB_JOB_DRAFT_H_
#define TOOLS_YARD_JOB_JOB_DRAFT_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bus/schema/launcher_generated.h"
#include "tools/yard/slurm/engine_flags.h"

namespace yard {

// A job as built so far from a file and flags.
struct JobDraft {
  // `environment` has only additions to the caller's; paths are absolute; each group has a
  // `count`.
  msg::JobSpecT spec;
  EngineWish engine = {};  // The keys `engine` and `slurm`.
  // Keys of the job that were given explicitly, to tell them from defaults.
  std::set<std::string> given;
};

// Limit of a job's tasks, over all types.
inline constexpr std::uint32_t kMaxTasks = 1000;

// An inconsistency of the task types.
struct TaskProblem {
  std::string type;
  std::string key;  // "addresses", "start_after", ...; empty for the type itself.
  std::string what;
};
// Checks: at most one chief and kMaxTasks tasks; as many addresses as tasks, all different;
// start_after names existing types, without a cycle. Pure.
std::vector<TaskProblem> CheckTasks(const msg::JobSpecT& spec);

// Returns an error for `type`; empty if it is valid. Types are parts of paths and topics;
// "worker-0" is refused because it could also be a task's name.
std::string CheckTaskType(const std::string& type);

// Completes a draft into the request for the launcher. `environment` and `directory` are the
// caller's; the draft's variables override them. A limit of restarts without a policy implies
// on-failure; a policy without a limit has no limit. InvalidArgument for errors of CheckTasks(),
// and if there is no program to run.
absl::StatusOr<msg::JobSpecT> CompleteJob(JobDraft draft,
                                          const std::vector<std::string>& environment,
                                          const std::string& directory);

// Replaces variables of `base` by those of `over` and appends new ones. Keeps the order of `base`.
std::vector<std::string> Overlay(const std::vector<std::string>& base,
                                 const std::vector<std::string>& over);

}  // namespace yard

#endif  // TOOLS_YARD_JOB_JOB_DRAFT_H_
