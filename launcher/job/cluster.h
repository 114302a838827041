#ifndef LAUNCHER_JOB_CLUSTER_H_
#define LAUNCHER_JOB_CLUSTER_H_

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "bus/schema/launcher_generated.h"

namespace launcher {

// Derives a job's tasks from its spec, and the environment that describes the cluster to each task.
// Pure functions.

// Maximum number of tasks of a job.
inline constexpr int kMaxTasks = 1000;

// Validates `groups` and the fields that belong to them. InvalidArgument names the invalid field
// and the reason. Returns OK for a spec without groups.
absl::Status CheckCluster(const msg::JobSpecT& spec);

// True for a spec that sets `task_type` and has a single group of that type, which only says what
// the one task needs. Such a task runs without cluster variables, as if the spec had no groups.
// (The spec of a cluster with one task leaves `task_type` empty.)
bool IsAlone(const msg::JobSpecT& spec);

// Returns the number of ports of this host that the job needs until it ends: one for each task of a
// group without addresses, and one for MASTER_PORT. (MASTER_PORT is never the port of a task: in
// torch the process of rank 0 listens there in addition to its other work; in TensorFlow the
// address of a task belongs to its server.) Returns 0 for a spec without groups and for a spec that
// is alone.
int PortsNeeded(const msg::JobSpecT& spec);

// Returns, for each of the ports that PortsNeeded() counts, the rank of the task that uses it.
std::vector<int> RanksOfPorts(const msg::JobSpecT& spec);

// One task of a job, as its spec describes it.
struct PlannedTask {
  std::string type;
  int index = 0;
  int rank = 0;         // Counted in the order of the groups; a restart does not change it.
  int group = -1;       // Index in the spec's `groups`; -1 if the spec has no groups.
  std::string address;  // HOST:PORT; empty if the spec has no groups or is alone.
  std::vector<std::string> argv;
  std::string working_directory;

  // Returns the task's name, such as "worker-0".
  std::string name() const;
};

// All tasks of a job, and the master that torch uses.
struct ClusterPlan {
  std::vector<PlannedTask> tasks;  // In the order of their ranks.
  std::string master_address;      // Host of rank 0; empty without groups.
  int master_port = 0;
};

// Returns the tasks of a spec that CheckCluster() accepts. A spec without groups has one task,
// named "worker-0" by default. `ports` holds PortsNeeded() ports, always in the same order; missing
// ones count as 0. `hosts` gives, by rank, the host of each task whose address is not in the spec;
// a missing or empty entry stands for this host.
ClusterPlan PlanTasks(const msg::JobSpecT& spec, std::span<const int> ports,
                      std::span<const std::string> hosts = {});

// Facts of one attempt that its environment contains although the spec does not.
struct TaskCircumstances {
  std::string job;  // "j-abcde"
  // Restarts before this attempt: those of the gang, or of the task if the job is not a gang.
  int restarts = 0;
  // The members of one named set that were granted to the task: {"gpu", {"0", "1"}}.
  struct Members {
    std::string name;
    std::vector<std::string> members;
  };
  std::vector<Members> sets;
  // The file to which torch's `record` decorator writes an exception; empty if it writes none.
  std::string torch_error_file;
  // True if the task was granted no GPU and must not see those of other tasks.
  bool hides_gpus = false;
  // The node of each task by rank; empty: all run on one host.
  std::vector<std::string> nodes = {};
  // The value of $YARD_HEARTBEAT; empty if the task has no heartbeat.
  std::string heartbeat_file = {};
};

// Returns the complete environment of a task. It starts from `environment` (the job's; the one in
// the spec is ignored); the variables below override it, and the group's own entries override both.
// For a spec without groups the job's environment is left as it is, except for CUDA_VISIBLE_DEVICES
// and YARD_HEARTBEAT. The variables are
//
// - TF_CONFIG, byte for byte what TensorFlow's multi-process runner makes with Python's json.dumps
//   (`rpc_layer` last, "grpc" if the spec says nothing), and GRPC_FAIL_FAST if the spec has it;
// - what torchrun sets: RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, GROUP_RANK,
//   GROUP_WORLD_SIZE, ROLE_RANK, ROLE_WORLD_SIZE, ROLE_NAME (the type), MASTER_ADDR, MASTER_PORT,
//   TORCHELASTIC_RESTART_COUNT, _MAX_RESTARTS, _RUN_ID (the job's id), _USE_AGENT_STORE (False:
//   rank 0 itself listens on MASTER_PORT), _ERROR_FILE; and, where the job's own environment does
//   not have them, TORCH_NCCL_ASYNC_ERROR_HANDLING=1 and, with several tasks, OMP_NUM_THREADS=1;
// - CUDA_VISIBLE_DEVICES, if the task was granted members of the set "gpu"; or empty, if the task
//   must not see the GPUs of others. A spec without groups gets this variable too. Devices that
//   belong to one task are counted from 0, so its LOCAL_RANK is 0, as with torchrun's
//   --virtual-local-rank; with share_sets all tasks see the same devices, and LOCAL_RANK is the
//   rank on the host;
// - YARD_JOB_ID, YARD_TASK ("worker-0"), YARD_RESOURCES ("gpu=0,1;disk=a"), YARD_READY_FD;
// - YARD_VARIABLES, the names of all these variables, for a task that starts further programs.
//
// The task of a spec that is alone gets neither TF_CONFIG nor the variables of torchrun.
//
// The tasks of one host form a group in torchrun's sense; groups are numbered in the order of their
// first tasks.
std::vector<std::string> TaskEnvironment(const msg::JobSpecT& spec,
                                         const std::vector<std::string>& environment,
                                         const ClusterPlan& plan, const PlannedTask& task,
                                         const TaskCircumstances& circumstances);

// Returns the value of TF_CONFIG for a task.
std::string TfConfig(const msg::JobSpecT& spec, const ClusterPlan& plan, const PlannedTask& task);

struct HostPort {
  std::string host;  // Without brackets.
  int port = 0;
};
// Parses "example.com:2222", "10.0.0.1:2222" or "[::1]:2222"; nullopt for any other text.
std::optional<HostPort> ParseHostPort(std::string_view text);

}  // namespace launcher

#endif  // LAUNCHER_JOB_CLUSTER_H_
