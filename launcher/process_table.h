#ifndef LAUNCHER_PROCESS_TABLE_H_
#define LAUNCHER_PROCESS_TABLE_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace launcher {

// One row of /proc.
struct ProcessRow {
  pid_t pid = 0;
  pid_t parent = 0;
  pid_t session = 0;
  char state = '?';  // 'Z' is a zombie.
  std::uint64_t start_ticks = 0;
};

// Nothing if there is no such process.
std::optional<ProcessRow> ReadProcess(pid_t pid);
// Every process of our pid namespace; those that end meanwhile are left out.
std::vector<ProcessRow> ReadProcesses();
// Live (not zombie) children of `root`, their children, and so on, without `root`.
std::vector<pid_t> Descendants(const std::vector<ProcessRow>& table, pid_t root);
// True if `pid` was started with exactly `entry` ("NAME=value") in its environment. False if it
// cannot be read.
bool HasEnvironmentEntry(pid_t pid, std::string_view entry);

// What is known of an attempt whose shim is gone.
struct OrphanedTree {
  std::string task_socket;        // The attempt's YARD_SOCKET, which no other attempt has.
  pid_t leader = 0;               // The task's main process and session; 0: unknown.
  std::uint64_t start_ticks = 0;  // Of the leader.
  // The shim was seen alive a moment ago, so the number of the leader's session cannot have been
  // given to a stranger even if the leader has ended.
  bool session_is_ours = false;
};
// Kills with SIGKILL every process of the tree: those with the attempt's YARD_SOCKET in their
// environment, those in its session, and all descendants of both, once. Returns how many were
// found alive: call it again until that is 0.
int KillOrphanedTree(const OrphanedTree& tree);

}  // namespace launcher

#endif  // LAUNCHER_PROCESS_TABLE_H_
