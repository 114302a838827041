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

// One process, as /proc shows it.
struct ProcessRow {
  pid_t pid = 0;
  pid_t parent = 0;
  pid_t session = 0;
  char state = '?';  // State of the first thread in /proc: 'Z' is a zombie.
  // The program no longer runs: the process is a zombie or is about to become one.
  bool over = false;
  std::uint64_t start_ticks = 0;
  std::uint64_t cpu_ticks = 0;  // CPU time of all its threads, in user and kernel mode.
  // CPU time of the children that it has waited for, and of theirs.
  std::uint64_t children_cpu_ticks = 0;
  std::uint64_t resident_pages = 0;  // Includes shared pages.
};

// Reads one process; nullopt if it does not exist. `proc` is the mount point of procfs.
std::optional<ProcessRow> ReadProcess(pid_t pid, const std::string& proc = "/proc");
// Reads all processes of our pid namespace, except those that end meanwhile.
std::vector<ProcessRow> ReadProcesses(const std::string& proc = "/proc");

// An index of parents and children, for many queries of one table.
class ProcessTree {
 public:
  // Keeps pointers into `table`, which must outlive the tree.
  explicit ProcessTree(const std::vector<ProcessRow>& table);
  // Returns all descendants of `root`, each once, without `root`.
  std::vector<const ProcessRow*> Below(pid_t root) const;
  // Returns a row; null if the table does not have the pid.
  const ProcessRow* Find(pid_t pid) const;

 private:
  std::unordered_map<pid_t, const ProcessRow*> by_pid_;
  std::unordered_multimap<pid_t, const ProcessRow*> by_parent_;
};
// Returns the live (not `over`) descendants of `root` in the table, without `root`.
std::vector<pid_t> Descendants(const std::vector<ProcessRow>& table, pid_t root);
// Returns the present live descendants of `root`. Avoids a scan of all processes if the kernel
// lists the children of a process.
std::vector<pid_t> LiveDescendants(pid_t root);
// Kills all live descendants with SIGKILL, and repeats that for processes that they have created
// meanwhile, until it finds no new one (or has repeated it many times). Returns the number of
// processes found.
int KillDescendants(pid_t root);
// True if `pid` was started with exactly `entry` ("NAME=value") in its environment; false if the
// environment cannot be read.
bool HasEnvironmentEntry(pid_t pid, std::string_view entry);

// Returns a name of the open file behind `path`, an entry of some /proc/PID/fd: "pipe:[123]", which
// is the same in every process that has it open. Empty if the entry does not exist or is not
// readable.
std::string OpenFileName(const std::string& path);
// The same for a descriptor of this process.
std::string OpenFileName(int fd);
// Returns the pids in `table`, except our own, of processes that have one of `files` open for
// writing. A process that only reads a pipe has its other end, and does not count.
std::vector<pid_t> HoldersOf(const std::vector<ProcessRow>& table,
                             const std::vector<std::string>& files);
// Returns the name of a process's program, as ps shows it; "?" if the process has ended.
std::string CommandName(pid_t pid);
// Returns the start ticks of a process that starts now.
std::uint64_t StartTicksNow();
// Returns the id of this boot of the machine; ticks and open files of another boot have no meaning.
// Empty if it is unknown.
std::string BootId();

// Facts by which the processes of an attempt are found after its shim has died.
struct OrphanedTree {
  // The attempt's YARD_SOCKET, which no other attempt has; empty if it has none.
  std::string task_socket;
  // Pid of the task's main process, and id of its session; 0 if unknown.
  pid_t leader = 0;
  std::uint64_t start_ticks = 0;  // Start ticks of the leader.
  // The shim was alive a moment ago, so that the id of the leader's session cannot have been
  // reused, even if the leader has ended.
  bool session_is_ours = false;
  // OpenFileName()s of files that only this tree was given: its output pipes, its channel. A
  // process that started before `not_before` (StartTicksNow() at the start of the shim) does not
  // belong to the tree, even if it was handed such a file.
  std::vector<std::string> files = {};
  std::uint64_t not_before = 0;
  // Control groups that contain only this tree (cgroup.h). A process cannot hide from them; call
  // RemoveCgroup() in the end.
  std::vector<std::string> cgroups = {};
  // An entry "NAME=value" that only this tree's processes have in their environment; empty if there
  // is no such mark.
  std::string mark = {};
};
// Sends SIGKILL once to every process of the tree: those in its control groups, those with the
// attempt's YARD_SOCKET or the mark in their environment, those in its session, those that hold one
// of its files (as in HoldersOf()), and all descendants of these. Returns the number of live
// processes found; call it until it returns 0. Without a control group it does not find a process
// that has started its own session, cleared its environment and closed all files.
int KillOrphanedTree(const OrphanedTree& tree);

}  // namespace launcher

#endif  // LAUNCHER_PROCESS_PROCESS_TABLE_H_
