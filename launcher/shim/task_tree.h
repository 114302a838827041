#ifndef LAUNCHER_SHIM_TASK_TREE_H_
#define LAUNCHER_SHIM_TASK_TREE_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "launcher/process/kill_modes.h"
#include "launcher/process/pid_namespace.h"
#include "launcher/shim/task_process.h"
#include "launcher/wire/shim_protocol.h"
#include "runtime/file/unique_fd.h"

namespace launcher {

// Facts about this host that are the same for all trees of one process and its forks, so that they
// are determined once.
struct TreeHost {
  std::string boot;  // BootId().
  // OwnCgroup(), if child groups can be created and killed in it; else empty.
  std::string cgroup2;
  // The control group that counts our processes that are killed for lack of memory. The process
  // that started the launcher, such as a cluster's scheduler, may have limited the memory of the
  // whole group. Empty if there is no such group.
  std::string memory_group = {};
  bool memory_is_2 = false;  // The group is of version 2.
};
// Determines the facts, for which it creates and removes a control group; takes a moment. A field
// that cannot be determined is empty: without `boot`, the next launcher finds fewer processes of a
// tree whose shim was killed; without `cgroup2`, each tree probes for itself. (A process that is
// moved to another group later still creates its groups in this one.)
TreeHost LookAtHost();

// The process tree of a task: the control groups and the namespace by which the task and everything
// that it starts can be limited and killed together. Owned by the shim, which is the task's
// subreaper: a process that escapes from the groups and the namespace is still a descendant of the
// shim. Use on the shim's thread.
class TaskTree {
 public:
  // Creates the control groups and the namespace that `mode` needs. `name` is the name of the
  // control groups and must be unique on this machine. Returns null, with `why` set, if `mode` is
  // not available.
  static std::unique_ptr<TaskTree> Make(KillMode mode, const TreeHost& host,
                                        const std::string& name, std::string* why);
  ~TaskTree();  // Control groups that are not empty remain.
  TaskTree(const TaskTree&) = delete;
  TaskTree& operator=(const TaskTree&) = delete;

  // Limits the tree as a whole. Returns a message with the limits that are not available here and
  // the reasons; empty if all limits are set.
  std::string Limit(const ControlLimits& limits);
  // Makes StartTask() start the task inside this tree.
  void AddTo(TaskStart* start) const;
  // Call this if the kernel lets no process into the control groups. Returns true if the kill mode
  // works without them; the tree then no longer uses them, and has no limits.
  bool GiveUpCgroups();

  KillMode mode() const { return mode_; }
  // The control groups by which the launcher can kill the tree if the shim has died.
  const std::vector<std::string>& cgroups() const { return cgroups_; }
  // The OpenFileName()s of files that only processes of the tree have open, for the same purpose.
  std::vector<std::string> files() const;
  // False if Kill() cannot find the processes by itself; the caller then has to kill the shim's
  // descendants.
  bool kills_all() const;
  // Kills all processes in the tree; call it repeatedly until no process is left.
  void Kill();
  // False while the tree may contain a process that is not a descendant of the shim.
  bool IsEmpty();
  bool IsGone() { return namespace_ == nullptr || namespace_->IsGone(); }
  // True if the kernel killed a process of the tree because the memory of the tree or of the
  // machine was exhausted. `main_was_killed` says that the main process ended by a SIGKILL that the
  // shim did not send; for a tree without control groups this tells a kill in the tree from kills
  // of other processes in the launcher's group.
  bool HadMemoryKill(bool main_was_killed) const;
  // Removes the control groups; false if one still exists. May be called again.
  bool Remove();

 private:
  explicit TaskTree(KillMode mode) : mode_(mode) {}
  bool MakeCgroup2(const TreeHost& host, std::string* why);
  bool AddCgroup(const std::string& path);
  std::string Set(std::string_view controller, std::string_view file2, std::string_view file1,
                  const std::string& value, const std::string& what);

  const KillMode mode_;
  std::string name_;
  std::string cgroup2_;  // Empty if the tree has no group of version 2.
  std::vector<std::string> cgroups_;
  runtime::UniqueFd cgroup2_fd_;
  std::vector<runtime::UniqueFd> entries_;  // cgroup.procs of the version 1 groups.
  std::unique_ptr<PidNamespace> namespace_;
  // TreeHost::memory_group, and its count of kills before the task was started.
  std::string memory_group_;
  bool memory_is_2_ = false;
  std::uint64_t memory_kills_before_ = 0;
};

}  // namespace launcher

#endif  // LAUNCHER_SHIM_TASK_TREE_H_
