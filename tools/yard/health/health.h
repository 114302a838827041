#ifndef TOOLS_YARD_HEALTH_HEALTH_H_
#define TOOLS_YARD_HEALTH_HEALTH_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "runtime/text/shell_word.h"

namespace yard {

// The rules of `yard doctor`: functions from facts to findings, which say what is wrong with a yard
// and how to fix it. No system calls here; health_facts.h and the verb collect the facts.

enum class Level {
  kOk,
  kWarn,  // It works, but not as well as it could, or not for long.
  kBad,   // It does not work.
};
const char* NameOf(Level level);  // "ok", "warn", "bad"

// Strings may hold any byte from a path or an answer: apply Printable() before a terminal.
struct Finding {
  Level level = Level::kOk;
  std::string check;  // Subject of the check in a word or two: "disk".
  std::string found;  // One line.
  std::string fix;    // One line to type or to do; empty if nothing is needed.
};
using Findings = std::vector<Finding>;
bool AnyBad(const Findings& findings);

using runtime::ShellWord;  // Every path in a command of `fix` is quoted by it.
// Returns a command that removes these files; if there are many, only the first, and runs doctor
// again.
std::string RemovalOf(std::vector<std::string> paths);

// ---- The machine

struct DirectoryFacts {
  std::string check;  // "state directory"
  std::string path;
  std::string variable;  // Environment variable that overrides it: "YARD_STATE".
  int error = 0;         // errno of examining it; 0 if it exists.
  mode_t mode = 0;       // Mode of the path itself; symbolic links are not followed.
  uid_t owner = 0;
  uid_t user = 0;       // Effective user id of this process.
  bool in_use = false;  // Running services need it.
  // Processes of services that use our state directory and whose runtime directory was removed. No
  // command can reach them, so they must be killed.
  std::vector<pid_t> unreachable = {};
  // Runtime directory of services that use our state directory but not our runtime directory; empty
  // if there are no such services.
  std::string elsewhere = {};
};
Finding CheckDirectory(const DirectoryFacts& facts);

struct SpaceFacts {
  std::vector<std::string> used_by;  // "state", "runs"
  std::string path;
  std::uint64_t free_bytes = 0;  // Available to this user, not only to root.
  std::uint64_t total_bytes = 0;
  std::uint64_t free_inodes = 0;
  std::uint64_t total_inodes = 0;  // 0 if the file system has no such limit.
};
// Returns one finding about bytes and one about inodes.
Findings CheckSpace(const SpaceFacts& facts);

Finding CheckFileLimit(std::uint64_t hard_limit);
Finding CheckClock(absl::Time now, absl::TimeZone zone);

struct LibraryFacts {
  std::string name;
  std::string compiled;  // "4.3.4"
  std::string running;
};
Finding CheckLibrary(const LibraryFacts& facts);

// `missing` are programs of this installation that were not found.
Finding CheckPrograms(const std::vector<std::string>& missing);

// ---- Leftovers

struct LeftoverFacts {
  // Lock files that nobody holds and that name an ended process. A clean stop leaves them too.
  std::vector<std::string> locks = {};
  // Sockets of services without a listener. A clean stop leaves them too.
  std::vector<std::string> sockets = {};
  // Ready files of services that do not run, because they were killed.
  std::vector<std::string> ready_files = {};
  std::vector<std::string> task_sockets = {};  // Sockets of shims that were killed unnoticed.
  bool more_sockets = false;                   // There are more sockets than were examined.
  // Shims that listen on their task's control socket.
  struct Shim {
    std::string task;  // "j-abcde.worker-0.1"
    pid_t pid = 0;
  };
  std::vector<Shim> shims = {};
  // Shims of this state directory whose control socket is gone, so no later launcher will find
  // them.
  std::vector<Shim> unreachable_shims = {};
};
Findings CheckLeftovers(const LeftoverFacts& facts);

// ---- Kill modes

// A way to kill a task with all its descendants, as the launcher has tested it.
struct KillModeFacts {
  std::string name;  // "cgroup2"
  bool offered = false;
  std::string detail;  // Where it works, or why it does not.
};
// Returns one finding for each mode. `chosen` is the mode of tasks that request none.
Findings CheckKillModes(const std::vector<KillModeFacts>& modes, const std::string& chosen);

// ---- The services

struct ServiceFacts {
  std::string name;
  std::string lock_path;
  std::string output_path;
  pid_t holder = 0;          // Process that holds the lock; 0 if none.
  bool suspended = false;    // The holder is stopped by SIGSTOP or the like.
  bool lost_socket = false;  // The holder's socket was removed.
  pid_t listener = 0;        // Process that listens on its socket, if nobody holds the lock.
  bool outdated = false;     // The holder runs another program than would be started now.
  // From the service's output: the last line, if nobody holds the lock; the cause of its end (empty
  // if it printed none, or was ready afterwards); and the command that fixes this cause.
  std::string last_line, cause, next_step;
  std::string damage;  // Damage of its database, if nobody holds the lock.

  // Answers of the registry and the service; unset if the registry did not answer.
  struct Lease {
    bool elsewhere = false;  // In another PID namespace, or on another host.
    bool suspect = false;
    bool external = false;  // Another supervisor than the launcher restarts it.
    std::int64_t registered_us = 0;
  };
  std::optional<Lease> lease;
  struct Stats {
    absl::Status status;  // Result of the call.
    std::string version;
    std::vector<std::pair<std::string, std::uint64_t>> counters;
  };
  std::optional<Stats> stats;
  std::string why_not;  // The launcher's reason why it does not run: "exit code 1".
};

struct DoctorFacts {
  bool wanted = false;
  absl::Status wanted_status;  // DataLoss if the file exists but cannot be read.
  absl::Status flags;          // Check of the wanted flags by the services, if no launcher runs.
  std::string logdir;          // Directory of the runs, if wanted.
  std::string version;         // Version of this program.
  absl::Time now;
  absl::Status registry;  // Result of calling it; OK also if nobody holds its lock.
  std::vector<ServiceFacts> services;
};
// Returns a finding about the yard as a whole, then those about each service that runs or should
// run.
Findings CheckYard(const DoctorFacts& facts);

}  // namespace yard

#endif  // TOOLS_YARD_HEALTH_HEALTH_H_
