#ifndef LAUNCHER_TESTING_SPEC_CLUSTER_SPEC_H_
#define LAUNCHER_TESTING_SPEC_CLUSTER_SPEC_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace launcher::testing {

// The tasks of a cluster: for each type the addresses of its tasks, in order.
using ClusterSpec = std::vector<std::pair<std::string, std::vector<std::string>>>;

// Task types in this order: chief, worker, ps, evaluator; each task at a port of this host. No port
// is given twice as long as this process lives, and none that another program has bound. Each is
// held by a bound socket until LetGoOfPorts(), which a runner calls before it starts a task of the
// spec: the original's are only looked for, and may be somebody else's by then. ResourceExhausted
// if there are not so many; InvalidArgument for a negative number.
absl::StatusOr<ClusterSpec> CreateClusterSpec(bool has_chief = false, int num_workers = 1,
                                              int num_ps = 0, bool has_eval = false);
// The tasks at these addresses may bind them now, in any way. No other task is given these ports.
void LetGoOfPorts(const ClusterSpec& spec);

// InvalidArgument for a spec without tasks, with two chiefs (it says how many), or with what is no
// HOST:PORT.
absl::Status CheckClusterSpec(const ClusterSpec& spec);

// InvalidArgument for what can be no task beside those of `spec`: its type is no word, or together
// with a number the name of another task; a negative number. It need not be in the spec.
absl::Status CheckTask(const ClusterSpec& spec, const std::string& type, int index);

// "worker-0"
std::string TaskName(std::string_view type, int index);
// In the order of the spec.
std::vector<std::string> TaskNames(const ClusterSpec& spec);

// The value of TF_CONFIG, byte for byte the original's. The task need not be in the spec.
std::string TfConfigOf(const ClusterSpec& spec, const std::string& rpc_layer,
                       const std::string& type, int index);

// The `gpus` with the numbers i, i + n, i + 2n, ..., where the task is number i of the n workers
// (the chief is the first of them), or of the evaluators. None for any other type. This is the
// original's share_gpu=False, which refuses a ps.
std::vector<std::string> GpusOf(const ClusterSpec& spec, const std::string& type, int index,
                                const std::vector<std::string>& gpus);
// The GPUs that this process may use: those of CUDA_VISIBLE_DEVICES if that is set, else those of
// the machine.
std::vector<std::string> VisibleGpus();

}  // namespace launcher::testing

#endif  // LAUNCHER_TESTING_SPEC_CLUSTER_SPEC_H_
