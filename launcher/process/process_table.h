#ifndef LAUNCHER_PROCESS_PROCESS_TABLE_H_
#define LAUNCHER_PROCESS_PROCESS_TABLE_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace launcher {

// One row of /proc.
struct ProcessRow {
  pid_t pid = 0;
  pid_t parent = 0;
  pid_t session = 0;
  char state = '?';   // As /proc tells it of the first thread: 'Z' is a zombie.
  bool over = false;  // Nothing of its program runs any more: a zombie, or about to be one.
  std::uint64_t start_ticks = 0;
  std::uint64_t cpu_ticks = 0;           // All its threads, in user and kernel mode.
  std::uint64_t children_cpu_ticks = 0;  // The children that it has waited for, and theirs.
  std::uint64_t resident_pages = 0;      // Shared ones too.
};

// `proc` is where the kernel shows its processes. Nothing if there is no such process.
std::optional<ProcessRow> ReadProcess(pid_t pid, const std::string& proc = "/proc");
// Every process of our pid namespace; those that end meanwhile are left out.
std::vector<ProcessRow> ReadProcesses(const std::string& proc = "/proc");

// Parents and children, for many questions about one table.
class ProcessTree {
 public:
  // Keeps pointers into it.
  explicit ProcessTree(const std::vector<ProcessRow>& table);
  // Children of `root`, their children, and so on, each once, without `root`.
  std::vector<const ProcessRow*> Below(pid_t root) const;
  // Null if it is not in the table.
  const ProcessRow* Find(pid_t pid) const;

 private:
  std::unordered_map<pid_t, const ProcessRow*> by_pid_;
  std::unordered_multimap<pid_t, const ProcessRow*> by_parent_;
};
// Live (not `over`) children of `root`, their children, and so on, without `root`.
std::vector<pid_t> Descendants(const std::vector<ProcessRow>& table, pid_t root);
// The same as they are now, without a look at all other processes where the kernel can tell.
std::vector<pid_t> LiveDescendants(pid_t root);
// Kills all of them with SIGKILL, and those that they have made meanwhile, until a look finds no
// new one (or many looks did). Returns how many were found.
int KillDescendants(pid_t root);
// True if `pid` was started with exactly `entry` ("NAME=value") in its environment. False if it
// cannot be read.
bool HasEnvironmentEntry(pid_t pid, std::string_view entry);

// Identifies what `path`, an entry of some /proc/PID/fd, stands for: "pipe:[123]", the same in
// every process that has it open. Empty if there is no such entry, or none that we may read.
std::string OpenFileName(const std::string& path);
// The same of a descriptor of ours, which is no pipe or socket with a path of its own.
std::string OpenFileName(int fd);
// Pids of the processes of `table`, but ourselves, that have one of `files` open for writing. A
// process that only reads a pipe is at its other end, and does not count.
std::vector<pid_t> HoldersOf(const std::vector<ProcessRow>& table,
                             const std::vector<std::string>& files);
// The name of its program, as ps shows it; "?" if it is gone.
std::string CommandName(pid_t pid);
// The start ticks of a process that starts now.
std::uint64_t StartTicksNow();
// Identifies this boot of the machine: ticks and open files of another boot mean nothing. Empty:
// unknown.
std::string BootId();

// Facts by which the processes of an attempt are found after its shim is gone.
struct OrphanedTree {
  // The attempt's YARD_SOCKET, which no other attempt has; empty: it has none.
  std::string task_socket;
  pid_t leader = 0;               // The task's main process and session; 0: unknown.
  std::uint64_t start_ticks = 0;  // The leader's.
  // The shim was seen alive a moment ago, so the number of the leader's session cannot have been
  // given to a stranger even if the leader has ended.
  bool session_is_ours = false;
  // OpenFileName()s of what only this tree was given: its output pipes, its channel. A process
  // from before `not_before` (StartTicksNow() when its shim began) is a stranger that was handed
  // one.
  std::vector<std::string> files = {};
  std::uint64_t not_before = 0;
  // Control groups that only this tree is in (cgroup.h). A process in such a group is found
  // whatever it does; call RemoveCgroup() in the end.
  std::vector<std::string> cgroups = {};
  // "NAME=value" in the environment of this tree's processes alone; empty: no mark.
  std::string mark = {};
};
// Kills with SIGKILL every process of the tree: those in its control groups, those with the
// attempt's YARD_SOCKET or its mark in their environment, those in its session, those that hold one
// of its files (as in HoldersOf()), and all descendants of these, once. Returns how many were found
// alive: call it again until that is 0. Without a control group a process in a session of its own
// that has cleaned its environment and closed all files is not found.
int KillOrphanedTree(const OrphanedTree& tree);

}  // namespace launcher

#endif  // LAUNCHER_PROCESS_PROCESS_TABLE_H_
