#ifndef TOOLS_YARD_HEALTH_MACHINE_HEALTH_H_
#define TOOLS_YARD_HEALTH_MACHINE_HEALTH_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tools/yard/health/health.h"

namespace yard {

// More rules of `yard doctor` (health.h): about this machine's resources, and about what a yard
// accumulates.

// A user's inotify limits, which the data manager needs to notice new data; 0 if unknown.
struct WatchFacts {
  std::uint64_t watches = 0;
  std::uint64_t instances = 0;
};
Finding CheckWatches(const WatchFacts& facts);

struct MemoryFacts {  // In bytes. A total of 0 means unknown, or no swap.
  std::uint64_t total = 0, available = 0;
  std::uint64_t swap_total = 0, swap_free = 0;
};
// Returns one finding about memory and one about swap.
Findings CheckMemory(const MemoryFacts& facts);

// `limit` is the number of processes that a user may have; all ones if unlimited.
Finding CheckProcessLimit(std::uint64_t limit);

// Task sockets are below this directory, and a socket's path may have at most 107 bytes.
Finding CheckSocketPaths(const std::string& runtime_directory);

struct LogFacts {
  std::string path;
  std::uint64_t bytes = 0, files = 0;
};
Finding CheckLogs(const LogFacts& facts);

struct TrialFacts {
  std::uint64_t running = 0, waiting = 0;
  std::string first = {}, reason = {};  // The first waiting trial: its id and why it waits.
};
Finding CheckTrials(const TrialFacts& facts);

// A trial or a job that can never start, because it requests more than the yard has.
struct StuckFacts {
  std::string id, why;
};
Findings CheckStuck(const std::vector<StuckFacts>& stuck);

// `strays` are shims of jobs unknown to the launcher: its database was lost or replaced, so nobody
// controls their tasks. No finding if `strays` is empty.
Findings CheckStrayShims(const std::vector<LeftoverFacts::Shim>& strays);
// `shims` have no control socket. No finding if `shims` is empty.
Findings CheckUnreachableShims(const std::vector<LeftoverFacts::Shim>& shims);

// Warns about a proxy that intercepts gRPC between programs of this machine
// (tensorboard_environment.h): TensorBoard then silently reads its runs in Python. No finding if
// there is no such proxy.
Findings CheckProxy(bool hides_localhost);

// ---- Facts of the machine. `read` reads a file of /proc.

using FileReader = std::function<std::optional<std::string>(const std::string& path)>;
std::optional<std::string> ReadProcFile(const std::string& path);

WatchFacts LookAtWatches(const FileReader& read = ReadProcFile);
MemoryFacts LookAtMemory(const FileReader& read = ReadProcFile);
std::uint64_t ProcessLimit();
LogFacts LookAtLogs(const std::string& directory);

}  // namespace yard

#endif  // TOOLS_YARD_HEALTH_MACHINE_HEALTH_H_
