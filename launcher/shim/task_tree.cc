#include "launcher/shim/task_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "launcher/process/cgroup.h"
#include "launcher/process/process_table.h"

namespace launcher {
namespace {

constexpr int kCpuPeriodMicros = 100'000;

std::string FreshCgroup(const std::string& parent, const std::string& name, std::string* why) {
  return parent.empty() ? std::string() : MakeCgroup(parent, name, why);
}

bool CanKill(const std::string& cgroup2, std::string* why) {
  if (access((cgroup2 + "/cgroup.kill").c_str(), W_OK) == 0) return true;
  *why = "cannot write " + cgroup2 + "/cgroup.kill: " + strerror(errno);
  return false;
}

// Enables a controller of a version 2 group for its children. The kernel refuses this if the parent
// group contains processes, unless it is the root.
void Delegate(const std::string& path, std::string_view controller) {
  const std::string parent = path.substr(0, path.rfind('/'));
  std::string ignored;
  WriteCgroupFile(parent, "cgroup.subtree_control", "+" + std::string(controller), &ignored);
}

}  // namespace

TreeHost LookAtHost() {
  TreeHost host{.boot = BootId(), .cgroup2 = {}};
  std::string ignored;
  const std::string own = OwnCgroup(&ignored);
  host.memory_group = OwnCgroupOf("memory", &ignored);
  host.memory_is_2 = host.memory_group.empty();
  if (host.memory_is_2) host.memory_group = own;
  const std::string name = std::string(kCgroupPrefix) + "look-" + std::to_string(getpid()) + "-" +
                           std::to_string(StartTicksNow());
  const std::string path = FreshCgroup(own, name, &ignored);
  if (path.empty()) return host;
  if (CanKill(path, &ignored)) host.cgroup2 = own;
  RemoveCgroup(path);
  return host;
}

std::unique_ptr<TaskTree> TaskTree::Make(KillMode mode, const TreeHost& host,
                                         const std::string& name, std::string* why) {
  std::unique_ptr<TaskTree> tree(new TaskTree(mode));
  tree->name_ = std::string(kCgroupPrefix) + name;
  tree->memory_group_ = host.memory_group;
  tree->memory_is_2_ = host.memory_is_2;
  if (!host.memory_group.empty()) {
    tree->memory_kills_before_ = MemoryKills(host.memory_group, host.memory_is_2);
  }
  if (mode == KillMode::kCgroup2) {
    if (!tree->MakeCgroup2(host, why)) return nullptr;
  } else if (mode == KillMode::kFreezer) {
    const std::string path = FreshCgroup(OwnCgroupOf("freezer", why), tree->name_, why);
    if (path.empty()) return nullptr;
    if (!tree->AddCgroup(path)) {
      *why = "cannot write " + path + "/cgroup.procs: " + strerror(errno);
      return nullptr;
    }
  } else if (mode == KillMode::kNamespace) {
    // (The control group serves limits, and a launcher that must kill the tree after the shim died;
    // the mode works without it.)
    tree->MakeCgroup2(host, why);
    tree->namespace_ = PidNamespace::Enter(why);
    if (tree->namespace_ == nullptr) return nullptr;
  }
  return tree;
}

bool TaskTree::MakeCgroup2(const TreeHost& host, std::string* why) {
  std::string path = host.cgroup2 + "/" + name_;
  const bool is_made = !host.cgroup2.empty() && mkdir(path.c_str(), 0755) == 0;
  if (!is_made) path = FreshCgroup(OwnCgroup(why), name_, why);
  if (path.empty()) return false;
  cgroups_.push_back(path);
  if (!is_made && !CanKill(path, why)) return false;
  cgroup2_ = path;
  cgroup2_fd_ = runtime::UniqueFd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return true;
}

TaskTree::~TaskTree() { Remove(); }

// Adds a control group of version 1, which a process enters by writing to its cgroup.procs.
bool TaskTree::AddCgroup(const std::string& path) {
  cgroups_.push_back(path);
  runtime::UniqueFd entry(open((path + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
  if (!entry.valid()) return false;
  entries_.push_back(std::move(entry));
  return true;
}

// Sets one limit, in the version 2 group or a version 1 group. Returns an error; empty if it is
// set.
std::string TaskTree::Set(std::string_view controller, std::string_view file2,
                          std::string_view file1, const std::string& value,
                          const std::string& what) {
  std::string why2 = "not in a version 2 control group", why1;
  if (!cgroup2_.empty()) {
    Delegate(cgroup2_, controller);
    const std::string full =
        controller == "cpu" ? value + " " + std::to_string(kCpuPeriodMicros) : value;
    if (WriteCgroupFile(cgroup2_, file2, full, &why2)) return {};
  }
  const std::string path = FreshCgroup(OwnCgroupOf(controller, &why1), name_, &why1);
  if (!path.empty()) {
    if (WriteCgroupFile(path, file1, value, &why1) && AddCgroup(path)) return {};
    if (std::find(cgroups_.begin(), cgroups_.end(), path) == cgroups_.end()) RemoveCgroup(path);
  }
  return "its " + what + " could not be limited: " + why2 + "; " + why1;
}

std::string TaskTree::Limit(const ControlLimits& limits) {
  std::string missing;
  const auto add = [&](const std::string& problem) {
    if (!problem.empty() && !missing.empty()) missing += "; ";
    missing += problem;
  };
  if (limits.memory_bytes != 0) {
    add(Set("memory", "memory.max", "memory.limit_in_bytes", std::to_string(limits.memory_bytes),
            "memory"));
  }
  if (limits.milli_cpus != 0) {
    const auto quota = limits.milli_cpus * (kCpuPeriodMicros / 1000);
    add(Set("cpu", "cpu.max", "cpu.cfs_quota_us", std::to_string(quota), "processor time"));
  }
  if (limits.processes != 0) {
    add(Set("pids", "pids.max", "pids.max", std::to_string(limits.processes),
            "number of processes"));
  }
  return missing;
}

bool TaskTree::GiveUpCgroups() {
  if (mode_ == KillMode::kCgroup2 || mode_ == KillMode::kFreezer || cgroups_.empty()) return false;
  cgroup2_fd_.reset();
  entries_.clear();
  Remove();
  cgroups_.clear();
  return true;
}

void TaskTree::AddTo(TaskStart* start) const {
  start->cgroup = cgroup2_fd_.get();
  start->cgroup_entries.clear();
  for (const auto& entry : entries_) start->cgroup_entries.push_back(entry.get());
  start->in_namespace = namespace_ != nullptr;
}

std::vector<std::string> TaskTree::files() const {
  if (namespace_ == nullptr) return {};
  return {OpenFileName(namespace_->pipe())};
}

bool TaskTree::kills_all() const {
  return mode_ != KillMode::kSubreaper && mode_ != KillMode::kGroup;
}

void TaskTree::Kill() {
  if (namespace_ != nullptr) namespace_->Kill();
  for (const auto& path : cgroups_) KillCgroup(path);
}

bool TaskTree::IsEmpty() {
  if (namespace_ == nullptr || namespace_->IsGone()) return true;
  return LiveDescendants(namespace_->first()).empty();
}

bool TaskTree::HadMemoryKill(bool main_was_killed) const {
  const bool is_ours = std::any_of(cgroups_.begin(), cgroups_.end(), [&](const auto& path) {
    return MemoryKills(path, path == cgroup2_) > 0;
  });
  return is_ours || (main_was_killed && !memory_group_.empty() &&
                     MemoryKills(memory_group_, memory_is_2_) > memory_kills_before_);
}

bool TaskTree::Remove() {
  std::erase_if(cgroups_, RemoveCgroup);
  return cgroups_.empty();
}

}  // namespace launcher
