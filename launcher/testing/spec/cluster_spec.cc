#include "launcher/testing/spec/cluster_spec.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "bus/schema/launcher_generated.h"
#include "launcher/job/cluster.h"
#include "launcher/share/held_ports.h"
#include "launcher/share/resources.h"
#include "runtime/mutex.h"
#include "runtime/text/string_view.h"

namespace launcher::testing {
namespace {

constexpr char kChief[] = "chief", kWorker[] = "worker", kPs[] = "ps", kEvaluator[] = "evaluator";

// All ports that CreateClusterSpec() has used in the life of the process.
class Ports {
 public:
  static Ports& OfThisProcess() {
    static auto* ports = new Ports;
    return *ports;
  }
  absl::StatusOr<std::vector<int>> Take(int count) {
    runtime::MutexLock lock(mutex_);
    return ports_.Take(kOwner, count);
  }
  void LetGo(int port) {
    runtime::MutexLock lock(mutex_);
    ports_.LetGo(kOwner, port);
  }

 private:
  // (Concurrent test processes start their searches at different ports.)
  Ports() : ports_({.ranges = {}, .start = static_cast<std::uint64_t>(getpid()) * 7919}) {}
  static constexpr char kOwner[] = "test";  // The owner of all ports of this process.
  runtime::Mutex mutex_;
  HeldPorts ports_ ABSL_GUARDED_BY(mutex_);
};

msg::JobSpecT AsJob(const ClusterSpec& spec) {
  msg::JobSpecT job;
  job.argv = {"function"};
  for (const auto& [type, addresses] : spec) {
    auto group = std::make_unique<msg::TaskGroupT>();
    group->type = type;
    group->addresses = addresses;
    job.groups.push_back(std::move(group));
  }
  return job;
}

int CountOf(const ClusterSpec& spec, const std::string& type) {
  int count = 0;
  for (const auto& [other, addresses] : spec) {
    if (other == type) count += static_cast<int>(addresses.size());
  }
  return count;
}

}  // namespace

absl::StatusOr<ClusterSpec> CreateClusterSpec(bool has_chief, int num_workers, int num_ps,
                                              bool has_eval) {
  const std::vector<std::pair<std::string, int>> counts = {
      {kChief, has_chief ? 1 : 0}, {kWorker, num_workers}, {kPs, num_ps}, {kEvaluator, has_eval}};
  int total = 0;
  for (const auto& [type, count] : counts) {
    if (count < 0 || count > kMaxTasks) {
      return absl::InvalidArgumentError(absl::StrCat("a cluster of ", count, " tasks ", type));
    }
    total += count;
  }
  const auto ports = Ports::OfThisProcess().Take(total);
  if (!ports.ok()) return ports.status();
  ClusterSpec spec;
  std::size_t next = 0;
  for (const auto& [type, count] : counts) {
    if (count == 0) continue;
    auto& addresses = spec.emplace_back(type, std::vector<std::string>()).second;
    for (int i = 0; i < count; ++i)
      addresses.push_back(absl::StrCat("localhost:", (*ports)[next++]));
  }
  return spec;
}

void LetGoOfPorts(const ClusterSpec& spec) {
  for (const auto& [type, addresses] : spec) {
    for (const auto& address : addresses) {
      const auto parsed = ParseHostPort(address);
      if (parsed) Ports::OfThisProcess().LetGo(parsed->port);
    }
  }
}

absl::Status CheckClusterSpec(const ClusterSpec& spec) {
  if (TaskNames(spec).empty()) return absl::InvalidArgumentError("a cluster without tasks");
  for (const auto& [type, addresses] : spec) {
    if (addresses.empty()) return absl::InvalidArgumentError(absl::StrCat(type, ": no addresses"));
  }
  return CheckCluster(AsJob(spec));
}

absl::Status CheckTask(const ClusterSpec& spec, const std::string& type, int index) {
  if (type.empty() || index < 0) {
    return absl::InvalidArgumentError(absl::StrCat("no task: \"", TaskName(type, index), "\""));
  }
  ClusterSpec types;
  for (const auto& [known, addresses] : spec) {
    if (known != type) types.emplace_back(known, addresses);
  }
  types.emplace_back(type, std::vector<std::string>{"this-task:1"});
  return CheckCluster(AsJob(types));
}

std::string TaskName(std::string_view type, int index) {
  return absl::StrCat(runtime::Absl(type), "-", index);
}

std::vector<std::string> TaskNames(const ClusterSpec& spec) {
  std::vector<std::string> names;
  for (const auto& [type, addresses] : spec) {
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      names.push_back(TaskName(type, static_cast<int>(i)));
    }
  }
  return names;
}

std::string TfConfigOf(const ClusterSpec& spec, const std::string& rpc_layer,
                       const std::string& type, int index) {
  msg::JobSpecT job = AsJob(spec);
  job.rpc_layer = rpc_layer;
  PlannedTask task;
  task.type = type;
  task.index = index;
  return TfConfig(job, PlanTasks(job, {}), task);
}

std::vector<std::string> GpusOf(const ClusterSpec& spec, const std::string& type, int index,
                                const std::vector<std::string>& gpus) {
  const int chiefs = CountOf(spec, kChief);
  int first = 0, step = 0;
  if (type == kChief || type == kWorker) {
    first = type == kChief ? index : chiefs + index;
    step = chiefs + CountOf(spec, kWorker);
  } else if (type == kEvaluator) {
    first = index;
    step = CountOf(spec, kEvaluator);
  } else {
    return {};
  }
  std::vector<std::string> own;
  for (int i = first; i < static_cast<int>(gpus.size()); i += std::max(step, 1)) {
    own.push_back(gpus[static_cast<std::size_t>(i)]);
  }
  return own;
}

std::vector<std::string> VisibleGpus() {
  if (const char* visible = getenv("CUDA_VISIBLE_DEVICES"); visible != nullptr) {
    return absl::StrSplit(visible, ',', absl::SkipEmpty());
  }
  const auto local = ParseResources(LocalResources("/dev"));
  if (!local.ok()) return {};
  for (const Resource& resource : *local) {
    if (resource.name == "gpu") return resource.members;
  }
  return {};
}

}  // namespace launcher::testing
