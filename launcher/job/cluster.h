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

// From a job's spec to its tasks, and what each of them is told of the others. Pure functions.

// A job has at most so many tasks.
inline constexpr int kMaxTasks = 1000;

// InvalidArgument says which part of `groups` (or of what belongs to them) cannot be used, and why.
// OK for a spec without groups.
absl::Status CheckCluster(const msg::JobSpecT& spec);

// True for the spec of one task that names its type itself, with a group of that type which says
// only what it needs: it is told of no cluster, as if there were no groups. (A cluster of one
// leaves `task_type` empty.)
bool IsAlone(const msg::JobSpecT& spec);

// How many ports of this host the job needs for its life: one for each task of a group without
// addresses, and one for MASTER_PORT. (That one is never the port of a task: in torch the process
// of rank 0 listens there beside whatever else it does, in TensorFlow the address of a task is its
// server's.) 0 for a spec without groups, and for one that is alone.
int PortsNeeded(const msg::JobSpecT& spec);

// The rank of the task that each of these ports is for.
std::vector<int> RanksOfPorts(const msg::JobSpecT& spec);

struct PlannedTask {
  std::string type;
  int index = 0;
  int rank = 0;         // In the order of the groups; the same after every restart.
  int group = -1;       // Its place in the spec's groups; -1: the spec has none.
  std::string address;  // HOST:PORT; empty if the spec has no groups, or is alone.
  std::vector<std::string> argv;
  std::string working_directory;

  // "worker-0"
  std::string name() const;
};

struct ClusterPlan {
  std::vector<PlannedTask> tasks;  // In the order of their ranks.
  std::string master_address;      // Host of rank 0; empty without groups.
  int master_port = 0;
};

// The tasks of a spec that CheckCluster() accepts; of one without groups the only one, "worker-0"
// if it has no other name. `ports`: as many as PortsNeeded() says, always in the same order. (With
// fewer, the missing ones are 0.) `hosts`: of each task by rank, for a task without an address in
// the spec; one that is missing or empty is this host.
ClusterPlan PlanTasks(const msg::JobSpecT& spec, std::span<const int> ports,
                      std::span<const std::string> hosts = {});

// Facts that a task's environment contains although the spec does not.
struct TaskCircumstances {
  std::string job;   // "j-abcde"
  int restarts = 0;  // Before this attempt: of the gang, else of the task.
  // The members of named sets that the task was given: {"gpu", {"0", "1"}}.
  struct Members {
    std::string name;
    std::vector<std::string> members;
  };
  std::vector<Members> sets;
  // Where torch's `record` decorator writes an exception; empty: nowhere.
  std::string torch_error_file;
  // It was given none, and must not see those of others.
  bool hides_gpus = false;
  // The node of each task by rank; empty: all run on one host.
  std::vector<std::string> nodes = {};
  // For $YARD_HEARTBEAT; empty: the task has no heartbeat.
  std::string heartbeat_file = {};
};

// The whole environment of a task: the job's (`environment`, whatever the spec has), over it ours,
// over it the group's own. A spec without groups leaves the job's as it is. Ours is
//
// - TF_CONFIG, byte for byte what TensorFlow's multi-process runner makes with Python's json.dumps
//   (`rpc_layer` last, "grpc" if the spec says nothing), and GRPC_FAIL_FAST if the spec has it;
// - what torchrun sets: RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, GROUP_RANK,
//   GROUP_WORLD_SIZE, ROLE_RANK, ROLE_WORLD_SIZE, ROLE_NAME (the type), MASTER_ADDR, MASTER_PORT,
//   TORCHELASTIC_RESTART_COUNT, _MAX_RESTARTS, _RUN_ID (the job's id), _USE_AGENT_STORE (False:
//   rank 0 itself listens on MASTER_PORT), _ERROR_FILE; and, where the job's own environment does
//   not have them, TORCH_NCCL_ASYNC_ERROR_HANDLING=1 and, with several tasks, OMP_NUM_THREADS=1;
// - CUDA_VISIBLE_DEVICES, if the task was given members of the set "gpu", or (empty) if it must not
//   see those of others; a spec without groups gets that too. Devices of its own are
//   counted from 0, so LOCAL_RANK is then 0, as with torchrun's --virtual-local-rank; with
//   share_sets all tasks see the same ones, and it is the rank;
// - YARD_JOB_ID, YARD_TASK ("worker-0"), YARD_RESOURCES ("gpu=0,1;disk=a"), YARD_READY_FD;
// - YARD_VARIABLES, the names of all of these, for who starts something from inside the task.
//
// The only task of a spec that is alone gets neither TF_CONFIG nor what torchrun sets.
//
// The tasks of one host are a group in torchrun's sense; groups are numbered in the order of their
// first tasks.
std::vector<std::string> TaskEnvironment(const msg::JobSpecT& spec,
                                         const std::vector<std::string>& environment,
                                         const ClusterPlan& plan, const PlannedTask& task,
                                         const TaskCircumstances& circumstances);

// The value of TF_CONFIG.
std::string TfConfig(const msg::JobSpecT& spec, const ClusterPlan& plan, const PlannedTask& task);

struct HostPort {
  std::string host;  // Without brackets.
  int port = 0;
};
// "example.com:2222", "10.0.0.1:2222" or "[::1]:2222"; nothing if it is none of these.
std::optional<HostPort> ParseHostPort(std::string_view text);

}  // namespace launcher

#endif  // LAUNCHER_JOB_CLUSTER_H_
