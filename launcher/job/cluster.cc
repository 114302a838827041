#include "launcher/job/cluster.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "launcher/job/ready_pattern.h"
#include "launcher/wire/process_limit.h"
#include "runtime/counted.h"
#include "runtime/text/string_view.h"

namespace launcher {
namespace {

constexpr std::size_t kMaxWord = 32;
constexpr std::size_t kMaxHost = 253;
// execve(2) limits one string to 128 KiB, which includes the variable's name and the NUL.
constexpr std::size_t kMaxTfConfig = 128 * 1024 - 16;
constexpr int kFirstReadyFd = 4, kLastReadyFd = 255;
constexpr std::string_view kThisHost = "127.0.0.1";
constexpr std::string_view kGpu = "gpu";

template <typename... Parts>
absl::Status Invalid(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat("groups: ", parts...));
}

bool IsOneOf(std::string_view text, bool (*allowed)(char)) {
  return !text.empty() && std::all_of(text.begin(), text.end(), allowed);
}

bool IsAlnum(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)); }

bool IsWord(std::string_view text) {
  return text.size() <= kMaxWord &&
         IsOneOf(text, [](char c) { return IsAlnum(c) || c == '_' || c == '-'; });
}

bool HasNul(std::string_view text) { return text.find('\0') != std::string_view::npos; }

std::uint64_t CountOf(const msg::TaskGroupT& group) {
  if (!group.addresses.empty()) return group.addresses.size();
  return group.count == 0 ? 1 : group.count;
}

std::string TaskName(const std::string& type, std::uint64_t index) {
  return absl::StrCat(type, "-", index);
}

std::string_view HostOf(std::span<const std::string> hosts, int rank) {
  const auto at = static_cast<std::size_t>(rank);
  return at < hosts.size() && !hosts[at].empty() ? std::string_view(hosts[at]) : kThisHost;
}

// Formats "10.0.0.1:2222" or "[::1]:2222".
std::string AddressOn(std::string_view host, int port) {
  const bool is_ipv6 = host.find(':') != std::string_view::npos;
  return absl::StrCat(is_ipv6 ? "[" : "", runtime::Absl(host), is_ipv6 ? "]:" : ":", port);
}

absl::Status CheckTypes(const msg::JobSpecT& spec) {
  std::map<std::string, std::uint64_t> counts;
  for (const auto& group : spec.groups) {
    if (!IsWord(group->type)) {
      return Invalid("type \"", absl::CHexEscape(group->type),
                     "\" is not a word of at most 32 letters, digits, underscores and dashes");
    }
    if (!counts.emplace(group->type, CountOf(*group)).second) {
      return Invalid("type ", group->type, " is there twice");
    }
  }
  for (const auto& [type, count] : counts) {
    const auto dash = type.rfind('-');
    if (dash == std::string::npos) continue;
    const auto other = counts.find(type.substr(0, dash));
    std::uint64_t index = 0;
    if (other != counts.end() && absl::SimpleAtoi(type.substr(dash + 1), &index) &&
        index < other->second && TaskName(other->first, index) == type) {
      return Invalid("type ", type, " has the name of a task of type ", other->first);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckCounts(const msg::JobSpecT& spec) {
  std::uint64_t total = 0;
  for (const auto& group : spec.groups) {
    if (group->count != 0 && !group->addresses.empty() && group->count != group->addresses.size()) {
      return Invalid(group->type, ": ", runtime::Counted(group->count, "task"), ", but ",
                     runtime::Counted(group->addresses.size(), "address", "addresses"));
    }
    if (group->type == "chief" && CountOf(*group) > 1) {
      return Invalid("a job has at most one chief, this one has ", CountOf(*group));
    }
    total += CountOf(*group);
  }
  if (total > kMaxTasks) {
    return Invalid("a job has at most ", kMaxTasks, " tasks, this one has ", total);
  }
  return absl::OkStatus();
}

absl::Status CheckAddresses(const msg::JobSpecT& spec) {
  std::set<std::string> known;
  for (const auto& group : spec.groups) {
    for (const auto& address : group->addresses) {
      if (!ParseHostPort(address)) {
        return Invalid(group->type, ": address \"", absl::CHexEscape(address),
                       "\" is not HOST:PORT (an IPv6 host in brackets)");
      }
      if (!known.insert(address).second) {
        return Invalid(group->type, ": address ", address, " is there twice");
      }
    }
  }
  return absl::OkStatus();
}

// Names the types of a cycle in `after`: "ps -> worker -> ps"; empty if `after` has no cycle.
std::string FindCycle(std::map<std::string, std::set<std::string>> after) {
  const auto is_free = [&](const std::string& type) { return !after.contains(type); };
  while (std::erase_if(after, [&](const auto& entry) {
           return std::all_of(entry.second.begin(), entry.second.end(), is_free);
         }) > 0) {
  }
  if (after.empty()) return "";
  std::vector<std::string> path;
  std::string type = after.begin()->first;
  while (std::find(path.begin(), path.end(), type) == path.end()) {
    path.push_back(type);
    const auto& next = after.at(type);
    type = *std::find_if_not(next.begin(), next.end(), is_free);
  }
  path.erase(path.begin(), std::find(path.begin(), path.end(), type));
  path.push_back(type);
  return absl::StrJoin(path, " -> ");
}

absl::Status CheckOrder(const msg::JobSpecT& spec) {
  std::map<std::string, std::set<std::string>> after;
  for (const auto& group : spec.groups) after[group->type];
  for (const auto& group : spec.groups) {
    for (const auto& start : group->start_after) {
      if (!after.contains(start->type)) {
        return Invalid(group->type, ": start_after names ", absl::CHexEscape(start->type),
                       ", which is no type of this job");
      }
      if (start->milestone > msg::Milestone::MAX) {
        return Invalid(group->type, ": start_after ", start->type, ": an unknown milestone");
      }
      after[group->type].insert(start->type);
    }
  }
  const std::string cycle = FindCycle(std::move(after));
  if (cycle.empty()) return absl::OkStatus();
  return Invalid("each starts only after the next: ", cycle);
}

absl::Status CheckLimits(const msg::TaskGroupT& group) {
  std::set<std::string> known;
  for (const auto& limit : group.process_limits) {
    if (ProcessLimit{.name = limit->name}.resource() < 0) {
      return Invalid(group.type, ": process limit \"", absl::CHexEscape(limit->name),
                     "\" is none of ",
                     absl::StrJoin(ProcessLimit::Names(), ", ",
                                   [](auto* to, auto name) { to->append(name); }));
    }
    if (!known.insert(limit->name).second) {
      return Invalid(group.type, ": process limit ", limit->name, " is there twice");
    }
    if (limit->soft > limit->hard) {
      return Invalid(group.type, ": process limit ", limit->name, ": the soft one, ", limit->soft,
                     ", is above the hard one, ", limit->hard);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckResources(const msg::TaskGroupT& group) {
  std::set<std::string> known;
  for (const auto& request : group.resources) {
    if (!IsWord(request->name)) {
      return Invalid(group.type, ": resource \"", absl::CHexEscape(request->name), "\" is no word");
    }
    if (request->amount == 0) {
      return Invalid(group.type, ": resource ", request->name, ": an amount of 0");
    }
    if (!known.insert(request->name).second) {
      return Invalid(group.type, ": resource ", request->name, " is there twice");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckProgram(const msg::JobSpecT& spec, const msg::TaskGroupT& group) {
  const auto& argv = group.argv.empty() ? spec.argv : group.argv;
  if (argv.empty() || argv[0].empty()) return Invalid(group.type, ": there is no program");
  if (std::any_of(argv.begin(), argv.end(), HasNul)) {
    return Invalid(group.type, ": an argument holds a NUL byte");
  }
  const std::string& directory = group.working_directory;
  if (!directory.empty() && (!directory.starts_with('/') || HasNul(directory))) {
    return Invalid(group.type, ": the working directory is not an absolute path");
  }
  for (const auto& entry : group.environment) {
    const auto equals = entry.find('=');
    if (HasNul(entry) || equals == std::string::npos || equals == 0) {
      return Invalid(group.type, ": an entry of the environment is not NAME=value");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckReadiness(const msg::TaskGroupT& group) {
  if (group.ready_fd != 0 && (group.ready_fd < kFirstReadyFd || group.ready_fd > kLastReadyFd)) {
    return Invalid(group.type, ": ready_fd is ", group.ready_fd, ", not from ", kFirstReadyFd,
                   " to ", kLastReadyFd);
  }
  if (group.ready_pattern.empty()) return absl::OkStatus();
  const auto pattern = ReadyPattern::Compile(group.ready_pattern);
  if (!pattern.ok()) return Invalid(group.type, ": ", pattern.status().message());
  return absl::OkStatus();
}

absl::Status CheckGrpc(const msg::JobSpecT& spec) {
  if (!spec.rpc_layer.empty() &&
      (spec.rpc_layer.size() > kMaxWord || !IsOneOf(spec.rpc_layer, [](char c) {
         return IsAlnum(c) || c == '_' || c == '-' || c == '+' || c == '.';
       }))) {
    return absl::InvalidArgumentError("rpc_layer: not a word such as grpc or grpc+verbs");
  }
  if (HasNul(spec.grpc_fail_fast)) {
    return absl::InvalidArgumentError("grpc_fail_fast: holds a NUL byte");
  }
  return absl::OkStatus();
}

absl::Status CheckSize(const msg::JobSpecT& spec) {
  const std::vector<int> longest(static_cast<std::size_t>(PortsNeeded(spec)), 65535);
  const ClusterPlan plan = PlanTasks(spec, longest);
  const std::size_t size = TfConfig(spec, plan, plan.tasks.back()).size();
  if (size <= kMaxTfConfig) return absl::OkStatus();
  return Invalid("all addresses together are too long: TF_CONFIG would have ", size,
                 " bytes, and a program gets at most ", kMaxTfConfig);
}

// An environment in which each name occurs once; a later value replaces an earlier one.
class Environment {
 public:
  explicit Environment(const std::vector<std::string>& entries) {
    for (const auto& entry : entries) {
      if (!Has(NameOf(entry))) Add(entry);
    }
  }

  bool Has(const std::string& name) const { return places_.contains(name); }
  void Add(std::string entry) {
    const auto [place, is_new] = places_.emplace(NameOf(entry), entries_.size());
    if (is_new) {
      entries_.push_back(std::move(entry));
    } else {
      entries_[place->second] = std::move(entry);
    }
  }
  template <typename Value>
  void Set(const std::string& name, const Value& value) {
    Add(absl::StrCat(name, "=", value));
    set_.push_back(name);
  }
  template <typename Value>
  void SetDefault(const std::string& name, const Value& value) {
    if (!Has(name)) Set(name, value);
  }
  void Remove(const std::string& name) {
    const auto found = places_.find(name);
    if (found != places_.end()) entries_[found->second].clear();
  }
  // Returns the entries, with a final YARD_VARIABLES that lists the names passed to Set().
  std::vector<std::string> Take() {
    if (!set_.empty()) Add(absl::StrCat("YARD_VARIABLES=", absl::StrJoin(set_, ",")));
    std::erase(entries_, "");
    return std::move(entries_);
  }

 private:
  static std::string NameOf(const std::string& entry) { return entry.substr(0, entry.find('=')); }

  std::vector<std::string> entries_;  // A removed entry is empty.
  std::vector<std::string> set_;      // Names that Set() was called with.
  std::map<std::string, std::size_t> places_;
};

// torchrun's numbers of one task: its place among the tasks of its host, and the host's place among
// the hosts.
struct TorchGroup {
  std::size_t local_rank = 0, local_size = 0;
  std::size_t group = 0, groups = 0;
};

TorchGroup GroupOf(const ClusterPlan& plan, const PlannedTask& task,
                   const std::vector<std::string>& nodes) {
  const auto node_of = [&nodes](const PlannedTask& one) {
    const auto at = static_cast<std::size_t>(one.rank);
    return at < nodes.size() ? std::string_view(nodes[at]) : std::string_view();
  };
  TorchGroup group;
  std::map<std::string_view, std::size_t> numbers;
  for (const PlannedTask& other : plan.tasks) {
    const std::string_view node = node_of(other);
    numbers.emplace(node, numbers.size());
    if (node != node_of(task)) continue;
    ++group.local_size;
    if (other.rank < task.rank) ++group.local_rank;
  }
  group.group = numbers.at(node_of(task));
  group.groups = numbers.size();
  return group;
}

void AddTorch(const msg::JobSpecT& spec, const ClusterPlan& plan, const PlannedTask& task,
              const TaskCircumstances& circumstances, Environment* environment) {
  const bool has_own_devices =
      !spec.share_sets && std::any_of(circumstances.sets.begin(), circumstances.sets.end(),
                                      [](const auto& set) { return set.name == kGpu; });
  const auto role = spec.groups[static_cast<std::size_t>(task.group)].get();
  const bool never = spec.restart == msg::RestartPolicy::Never;
  const TorchGroup on_host = GroupOf(plan, task, circumstances.nodes);
  environment->Set("RANK", task.rank);
  environment->Set("LOCAL_RANK", has_own_devices ? 0 : on_host.local_rank);
  environment->Set("WORLD_SIZE", plan.tasks.size());
  environment->Set("LOCAL_WORLD_SIZE", on_host.local_size);
  environment->Set("GROUP_RANK", on_host.group);
  environment->Set("GROUP_WORLD_SIZE", on_host.groups);
  environment->Set("ROLE_RANK", task.index);
  environment->Set("ROLE_WORLD_SIZE", CountOf(*role));
  environment->Set("ROLE_NAME", task.type);
  environment->Set("MASTER_ADDR", plan.master_address);
  environment->Set("MASTER_PORT", plan.master_port);
  environment->Set("TORCHELASTIC_RESTART_COUNT", circumstances.restarts);
  environment->Set("TORCHELASTIC_MAX_RESTARTS", never ? 0 : spec.max_restarts);
  environment->Set("TORCHELASTIC_RUN_ID", circumstances.job);
  environment->Set("TORCHELASTIC_USE_AGENT_STORE", "False");
  environment->SetDefault("TORCH_NCCL_ASYNC_ERROR_HANDLING", 1);
  if (plan.tasks.size() > 1) environment->SetDefault("OMP_NUM_THREADS", 1);
  if (!circumstances.torch_error_file.empty()) {
    environment->Set("TORCHELASTIC_ERROR_FILE", circumstances.torch_error_file);
  }
}

}  // namespace

absl::Status CheckCluster(const msg::JobSpecT& spec) {
  if (auto status = CheckGrpc(spec); !status.ok()) return status;
  if (spec.groups.empty()) return absl::OkStatus();
  for (const auto check : {CheckTypes, CheckCounts, CheckAddresses, CheckOrder}) {
    if (auto status = check(spec); !status.ok()) return status;
  }
  for (const auto& group : spec.groups) {
    if (auto status = CheckProgram(spec, *group); !status.ok()) return status;
    for (const auto check : {CheckReadiness, CheckLimits, CheckResources}) {
      if (auto status = check(*group); !status.ok()) return status;
    }
  }
  return CheckSize(spec);
}

bool IsAlone(const msg::JobSpecT& spec) {
  if (spec.task_type.empty() || spec.groups.size() != 1) return false;
  const msg::TaskGroupT& group = *spec.groups.front();
  return group.type == spec.task_type && CountOf(group) == 1 && group.addresses.empty();
}

int PortsNeeded(const msg::JobSpecT& spec) {
  if (spec.groups.empty() || IsAlone(spec)) return 0;
  std::uint64_t ports = 1;
  for (const auto& group : spec.groups) {
    if (group->addresses.empty()) ports += CountOf(*group);
  }
  return static_cast<int>(std::min<std::uint64_t>(ports, kMaxTasks + 1));
}

std::vector<int> RanksOfPorts(const msg::JobSpecT& spec) {
  std::vector<int> ranks;
  if (PortsNeeded(spec) == 0) return ranks;
  int rank = 0;
  for (const auto& group : spec.groups) {
    for (std::uint64_t i = 0; i < CountOf(*group); ++i, ++rank) {
      if (group->addresses.empty()) ranks.push_back(rank);
    }
  }
  ranks.push_back(0);  // MASTER_PORT.
  return ranks;
}

std::string PlannedTask::name() const { return TaskName(type, static_cast<std::uint64_t>(index)); }

ClusterPlan PlanTasks(const msg::JobSpecT& spec, std::span<const int> ports,
                      std::span<const std::string> hosts) {
  ClusterPlan plan;
  if (spec.groups.empty()) {
    PlannedTask& task = plan.tasks.emplace_back();
    task.type = spec.task_type.empty() ? "worker" : spec.task_type;
    task.index = static_cast<int>(spec.task_index);
    task.argv = spec.argv;
    task.working_directory = spec.working_directory;
    return plan;
  }
  const bool is_alone = IsAlone(spec);
  std::size_t next = 0;
  const auto take_port = [&] { return next < ports.size() ? ports[next++] : 0; };
  for (std::size_t g = 0; g < spec.groups.size(); ++g) {
    const msg::TaskGroupT& group = *spec.groups[g];
    for (std::uint64_t i = 0; i < CountOf(group); ++i) {
      PlannedTask& task = plan.tasks.emplace_back();
      task.type = group.type;
      task.index = static_cast<int>(i);
      task.rank = static_cast<int>(plan.tasks.size()) - 1;
      task.group = static_cast<int>(g);
      if (!group.addresses.empty()) {
        task.address = group.addresses[i];
      } else if (!is_alone) {
        task.address = AddressOn(HostOf(hosts, task.rank), take_port());
      }
      task.argv = group.argv.empty() ? spec.argv : group.argv;
      task.working_directory =
          group.working_directory.empty() ? spec.working_directory : group.working_directory;
    }
  }
  if (is_alone) return plan;
  const auto master = ParseHostPort(plan.tasks.front().address);
  plan.master_address = master ? master->host : std::string(kThisHost);
  plan.master_port = take_port();
  return plan;
}

// (No character needs escaping: CheckCluster() accepts no others.)
std::string TfConfig(const msg::JobSpecT& spec, const ClusterPlan& plan, const PlannedTask& task) {
  std::string text = "{\"cluster\": {";
  int group = -1;
  for (const PlannedTask& other : plan.tasks) {
    if (other.group == group) {
      text += ", ";
    } else {
      absl::StrAppend(&text, group < 0 ? "" : "], ", "\"", other.type, "\": [");
      group = other.group;
    }
    absl::StrAppend(&text, "\"", other.address, "\"");
  }
  absl::StrAppend(&text, "]}, \"task\": {\"type\": \"", task.type, "\", \"index\": ", task.index,
                  "}, \"rpc_layer\": \"", spec.rpc_layer.empty() ? "grpc" : spec.rpc_layer, "\"}");
  return text;
}

std::vector<std::string> TaskEnvironment(const msg::JobSpecT& spec,
                                         const std::vector<std::string>& environment,
                                         const ClusterPlan& plan, const PlannedTask& task,
                                         const TaskCircumstances& circumstances) {
  const std::string& heartbeat = circumstances.heartbeat_file;
  if (task.group < 0 && !circumstances.hides_gpus && heartbeat.empty()) return environment;
  Environment all(environment);
  all.Remove("YARD_HEARTBEAT");
  if (!heartbeat.empty()) all.Set("YARD_HEARTBEAT", heartbeat);
  if (circumstances.hides_gpus) all.Set("CUDA_VISIBLE_DEVICES", "");
  if (task.group < 0) return all.Take();
  const msg::TaskGroupT& group = *spec.groups[static_cast<std::size_t>(task.group)];
  const bool is_alone = IsAlone(spec);
  if (!is_alone) all.Set("TF_CONFIG", TfConfig(spec, plan, task));
  if (!spec.grpc_fail_fast.empty()) all.Set("GRPC_FAIL_FAST", spec.grpc_fail_fast);
  if (!is_alone) AddTorch(spec, plan, task, circumstances, &all);
  all.Set("YARD_JOB_ID", circumstances.job);
  all.Set("YARD_TASK", task.name());
  std::vector<std::string> resources;
  for (const auto& set : circumstances.sets) {
    const std::string members = absl::StrJoin(set.members, ",");
    if (set.name == kGpu) all.Set("CUDA_VISIBLE_DEVICES", members);
    resources.push_back(absl::StrCat(set.name, "=", members));
  }
  all.Remove("YARD_RESOURCES");
  if (!resources.empty()) all.Set("YARD_RESOURCES", absl::StrJoin(resources, ";"));
  all.Remove("YARD_READY_FD");
  if (group.ready_fd != 0) all.Set("YARD_READY_FD", group.ready_fd);
  for (const auto& entry : group.environment) all.Add(entry);
  return all.Take();
}

std::optional<HostPort> ParseHostPort(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string host(text.substr(0, colon));
  const std::string_view digits = text.substr(colon + 1);
  int port = 0;
  if (!IsOneOf(digits, [](char c) { return c >= '0' && c <= '9'; }) || digits.size() > 5 ||
      !absl::SimpleAtoi(runtime::Absl(digits), &port) || port < 1 || port > 65535) {
    return std::nullopt;
  }
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
    in6_addr ignored = {};
    const auto zone = host.find('%');
    if (inet_pton(AF_INET6, host.substr(0, zone).c_str(), &ignored) != 1) return std::nullopt;
    if (zone != std::string::npos && !IsWord(host.substr(zone + 1))) return std::nullopt;
    return HostPort{std::move(host), port};
  }
  if (host.size() > kMaxHost ||
      !IsOneOf(host, [](char c) { return IsAlnum(c) || c == '-' || c == '.' || c == '_'; })) {
    return std::nullopt;
  }
  return HostPort{std::move(host), port};
}

}  // namespace launcher
