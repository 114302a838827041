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

// A job as a file and flags have it so far.
struct JobDraft {
  // `environment` is only what they add to the caller's; paths are absolute; each group has its
  // `count`.
  msg::JobSpecT spec;
  EngineWish engine = {};  // `engine` and `slurm`.
  // The job's keys that were given: a default is another thing.
  std::set<std::string> given;
};

// Tasks of a job at most, all types together.
inline constexpr std::uint32_t kMaxTasks = 1000;

// Something about the task types that does not fit together.
struct TaskProblem {
  std::string type;
  std::string key;  // "addresses", "start_after", ...; empty: the type as such.
  std::string what;
};
// At most one chief and kMaxTasks tasks; as many addresses as tasks, all different; start_after
// names types that there are, in an order that can be. Pure.
std::vector<TaskProblem> CheckTasks(const msg::JobSpecT& spec);

// "worker-0" would be a task's name as well as a type's; types are part of paths and topics.
// Empty if `type` is good, else what is wrong.
std::string CheckTaskType(const std::string& type);

// The job as it is sent to the launcher: `environment` and `directory` are the caller's, and the
// draft's environment comes on top. A limit of restarts without a policy means on-failure, a policy
// without a limit has none. InvalidArgument for what CheckTasks() finds, and where there is no
// program to run.
absl::StatusOr<msg::JobSpecT> CompleteJob(JobDraft draft,
                                          const std::vector<std::string>& environment,
                                          const std::string& directory);

// `over` replaces variables of `base` and adds new ones. The order is that of `base`.
std::vector<std::string> Overlay(const std::vector<std::string>& base,
                                 const std::vector<std::string>& over);

}  // namespace yard

#endif  // TOOLS_YARD_JOB_JOB_DRAFT_H_
