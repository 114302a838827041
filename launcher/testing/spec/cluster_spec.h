#ifndef LAUNCHER_TESTING_SPEC_CLUSTER_SPEC_H_
#define LAUNCHER_TESTING_SPEC_CLUSTER_SPEC_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace launcher::testing {

// The tasks of a cluster: each type with the addresses of its tasks, in order.
using ClusterSpec = std::vector<std::pair<std::string, std::vector<std::string>>>;

// Makes a spec with the task types chief, worker, ps, evaluator, in this order; each task has a
// port of this host. No port is used twice in the life of this process, and none that another
// program has bound. Each is held by a bound socket until LetGoOfPorts(), which a runner calls
// before it starts a task of the spec; the ports of the original are not held, so that another
// program may take them. ResourceExhausted if there are not enough ports; InvalidArgument for a
// negative number.
absl::StatusOr<ClusterSpec> CreateClusterSpec(bool has_chief = false, int num_workers = 1,
                                              int num_ps = 0, bool has_eval = false);
// Stops holding the ports, so that the tasks at these addresses can bind them. No other task gets
// these ports.
void LetGoOfPorts(const ClusterSpec& spec);

// InvalidArgument for a spec without tasks, with several chiefs (with their number), or with an
// address that is not HOST:PORT.
absl::Status CheckClusterSpec(const ClusterSpec& spec);

// Validates a task, which need not be in the spec. InvalidArgument if it cannot exist beside the
// tasks of `spec`: if its type is not a word, or its type is the name of another task, or the index
// is negative.
absl::Status CheckTask(const ClusterSpec& spec, const std::string& type, int index);

// Returns the task's name, such as "worker-0".
std::string TaskName(std::string_view type, int index);
// Returns the names of all tasks in the order of the spec.
std::vector<std::string> TaskNames(const ClusterSpec& spec);

// Returns the value of TF_CONFIG, byte for byte as the original makes it. The task need not be in
// the spec.
std::string TfConfigOf(const ClusterSpec& spec, const std::string& rpc_layer,
                       const std::string& type, int index);

// Returns those of `gpus` with the indices i, i + n, i + 2n, ..., where the task is number i of the
// n workers (of which the chief is the first) or of the n evaluators; none for other types. This is
// share_gpu=False of the original, which rejects a ps.
std::vector<std::string> GpusOf(const ClusterSpec& spec, const std::string& type, int index,
                                const std::vector<std::string>& gpus);
// Returns the GPUs that this process may use: those of CUDA_VISIBLE_DEVICES if that is set, else
// those of the machine.
std::vector<std::string> VisibleGpus();

}  // namespace launcher::testing

#endif  // LAUNCHER_TESTING_SPEC_CLUSTER_SPEC_H_
