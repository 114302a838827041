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

// Facts that are the same for all trees of one process and its forks, so that one look is enough
// for all of them.
struct TreeHost {
  std::string boot;  // BootId().
  // OwnCgroup(), if groups can be made and killed in it; else empty.
  std::string cgroup2;
  // The control group that counts the processes of ours which are killed because memory is short:
  // whoever started the launcher, such as a cluster's scheduler, may limit all of it. Empty: none.
  std::string memory_group = {};
  bool memory_is_2 = false;  // The group is of version 2.
};
// Makes a control group and removes it; takes a moment. A field that cannot be filled is empty:
// without `boot` the next launcher finds less of a tree whose shim was killed, without `cgroup2`
// each tree looks for itself. (Processes that are moved to another group later go on to make theirs
// here.)
TreeHost LookAtHost();

// Holds a task together with everything that it starts: by control groups and namespaces of its own
// all of it can be limited and killed. The shim owns it, and is the task's subreaper: a process
// that gets out of the groups and namespaces is still the shim's descendant. On the shim's thread.
class TaskTree {
 public:
  // Makes what `mode` takes; `name` is that of the control groups and used once on this machine.
  // Null, with `why` set, if it cannot be had.
  static std::unique_ptr<TaskTree> Make(KillMode mode, const TreeHost& host,
                                        const std::string& name, std::string* why);
  ~TaskTree();  // The control groups stay, if they are not empty.
  TaskTree(const TaskTree&) = delete;
  TaskTree& operator=(const TaskTree&) = delete;

  // Limits all of it together. Returns what cannot be limited here and why, in words; empty: all
  // that was asked for is.
  std::string Limit(const ControlLimits& limits);
  // The task is to be started into it.
  void AddTo(TaskStart* start) const;
  // The kernel lets nobody into the control groups: true if it works without them (but without
  // limits), and does so from now on.
  bool GiveUpCgroups();

  KillMode mode() const { return mode_; }
  // By which somebody else can kill it, if we cannot any more.
  const std::vector<std::string>& cgroups() const { return cgroups_; }
  // OpenFileName()s that only processes of it have open, the same purpose.
  std::vector<std::string> files() const;
  // False if `Kill()` finds nobody by itself: then descendants have to be looked for.
  bool kills_all() const;
  // Kills everybody in it; call it again until nobody is left.
  void Kill();
  // False while there may be somebody who is no descendant of ours.
  bool IsEmpty();
  bool IsGone() { return namespace_ == nullptr || namespace_->IsGone(); }
  // True if a process was killed because memory was used up, of this tree or of the machine.
  // `main_was_killed`: its main process has ended by a SIGKILL that was not ours. Without control
  // groups of its own this tells such a kill from those of others in the launcher's group.
  bool HadMemoryKill(bool main_was_killed) const;
  // Removes the control groups; false if one is still there. May be called again.
  bool Remove();

 private:
  explicit TaskTree(KillMode mode) : mode_(mode) {}
  bool MakeCgroup2(const TreeHost& host, std::string* why);
  bool AddCgroup(const std::string& path);
  std::string Set(std::string_view controller, std::string_view file2, std::string_view file1,
                  const std::string& value, const std::string& what);

  const KillMode mode_;
  std::string name_;
  std::string cgroup2_;  // Empty: no group of version 2.
  std::vector<std::string> cgroups_;
  runtime::UniqueFd cgroup2_fd_;
  std::vector<runtime::UniqueFd> entries_;  // cgroup.procs of the version 1 groups.
  std::unique_ptr<PidNamespace> namespace_;
  // TreeHost::memory_group, and its count before the task was started.
  std::string memory_group_;
  bool memory_is_2_ = false;
  std::uint64_t memory_kills_before_ = 0;
};

}  // namespace launcher

#endif  // LAUNCHER_SHIM_TASK_TREE_H_
