#ifndef TOOLS_YARD_SERVICES_HEALTH_H_
#define TOOLS_YARD_SERVICES_HEALTH_H_

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

// The rules of `yard doctor`, which say what is wrong with a yard and how to mend it: from facts to
// findings and nothing else. No system calls; health_facts.h and the verb find the facts out.

enum class Level {
  kOk,
  kWarn,  // Something works, but not as well as it could, or not for long.
  kBad,   // Something does not work.
};
const char* NameOf(Level level);  // "ok", "warn", "bad"

// Texts may hold any byte that a path or a service's answer holds: Printable() before a terminal.
struct Finding {
  Level level = Level::kOk;
  std::string check;  // The thing that is looked at, in a word or two: "disk".
  std::string found;  // One line.
  std::string fix;    // One line to type or to do; empty if nothing is to be done.
};
using Findings = std::vector<Finding>;
bool AnyBad(const Findings& findings);

using runtime::ShellWord;  // Every path in a command of `fix` is one.
// The command that makes `directory` the runtime directory of a shell that has its own from
// `variable`.
std::string CommandToUse(const std::string& directory, const std::string& variable);
// The command that removes these files; of many, the first ones, and to look again.
std::string RemovalOf(std::vector<std::string> paths);

// ---- The machine

struct DirectoryFacts {
  std::string check;  // "state directory"
  std::string path;
  std::string variable;  // Another value of it names another place: "YARD_STATE".
  int error = 0;         // errno of looking at it, 0 if it is there.
  mode_t mode = 0;       // Mode of the path itself: a symbolic link is not followed.
  uid_t owner = 0;
  uid_t user = 0;       // Effective user id of this process.
  bool in_use = false;  // Services run that need it.
  // Processes of services that keep their state where we do and whose runtime directory is gone.
  // They must be ended, as no command can reach them.
  std::vector<pid_t> unreachable = {};
  // The runtime directory of services that keep their state where we do and have another one; empty
  // if no service has.
  std::string elsewhere = {};
};
Finding CheckDirectory(const DirectoryFacts& facts);

struct SpaceFacts {
  std::vector<std::string> used_by;  // "state", "runs"
  std::string path;
  std::uint64_t free_bytes = 0;  // For us, not for the superuser.
  std::uint64_t total_bytes = 0;
  std::uint64_t free_inodes = 0;
  std::uint64_t total_inodes = 0;  // 0: it has no such limit.
};
// A finding about bytes and one about inodes.
Findings CheckSpace(const SpaceFacts& facts);

Finding CheckFileLimit(std::uint64_t hard_limit);
Finding CheckClock(absl::Time now, absl::TimeZone zone);

struct LibraryFacts {
  std::string name;
  std::string compiled;  // "4.3.4"
  std::string running;
};
Finding CheckLibrary(const LibraryFacts& facts);

// Programs that belong to this one and were not found.
Finding CheckPrograms(const std::vector<std::string>& missing);

// ---- What is left behind

struct LeftoverFacts {
  // Locks that nobody holds, whose file names a process that has ended. Also after a clean stop.
  std::vector<std::string> locks = {};
  // Sockets of services that nobody listens at. Also after a clean stop.
  std::vector<std::string> sockets = {};
  // Files that say of a service that it is ready, and it does not run: it was killed.
  std::vector<std::string> ready_files = {};
  std::vector<std::string> task_sockets = {};  // Their shims were killed, and nobody saw it.
  bool more_sockets = false;                   // Not all were looked at.
  // Shims that serve a task's control socket.
  struct Shim {
    std::string task;  // "j-abcde.worker-0.1"
    pid_t pid = 0;
  };
  std::vector<Shim> shims = {};
  // Shims of this state whose control socket is gone: no launcher that comes finds them.
  std::vector<Shim> unreachable_shims = {};
};
Findings CheckLeftovers(const LeftoverFacts& facts);

// ---- How tasks are killed

// A way to kill a task with everything it has started, as the launcher has tried it.
struct KillModeFacts {
  std::string name;  // "cgroup2"
  bool offered = false;
  std::string detail;  // Where, or why not.
};
// A finding about each mode. `chosen` is the mode of a task that asks for none.
Findings CheckKillModes(const std::vector<KillModeFacts>& modes, const std::string& chosen);

// ---- The services

struct ServiceFacts {
  std::string name;
  std::string lock_path;
  std::string output_path;
  pid_t holder = 0;          // Process that holds the lock; 0: nobody.
  bool suspended = false;    // The holder is stopped by a signal.
  bool lost_socket = false;  // The holder's socket was removed.
  pid_t listener = 0;        // Process that listens at its socket, if nobody holds the lock.
  bool outdated = false;     // The holder runs another program than would be started now.
  // From the service's output: the last line, if nobody holds the lock; why the service ended
  // (empty: it does not say, or was ready since); and what to type for that.
  std::string last_line, cause, next_step;
  std::string damage;  // Damage of the service's database, if nobody holds the lock.

  // The answers of the registry and the service. Without an answer of the registry: nothing.
  struct Lease {
    bool elsewhere = false;  // The process has its number in another namespace, or on another host.
    bool suspect = false;
    bool external = false;  // Supervised by somebody else than the launcher.
    std::int64_t registered_us = 0;
  };
  std::optional<Lease> lease;
  struct Stats {
    absl::Status status;  // Result of asking.
    std::string version;
    std::vector<std::pair<std::string, std::uint64_t>> counters;
  };
  std::optional<Stats> stats;
  std::string why_not;  // The launcher's reason why the service does not run: "exit code 1".
};

struct DoctorFacts {
  bool wanted = false;
  absl::Status wanted_status;  // DataLoss: the file is there but not readable.
  absl::Status flags;          // The services' verdict on the wanted flags, if no launcher runs.
  std::string logdir;          // Directory of the runs, if wanted.
  std::string version;         // Ours.
  absl::Time now;
  absl::Status registry;  // Result of asking it; OK also if nobody holds its lock.
  std::vector<ServiceFacts> services;
};
// Whether the yard as a whole is up, and then each service that should be or is.
Findings CheckYard(const DoctorFacts& facts);

}  // namespace yard

#endif  // TOOLS_YARD_SERVICES_HEALTH_H_
