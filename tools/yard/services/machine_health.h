#ifndef TOOLS_YARD_SERVICES_MACHINE_HEALTH_H_
#define TOOLS_YARD_SERVICES_MACHINE_HEALTH_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tools/yard/services/health.h"

namespace yard {

// More rules of `yard doctor` (health.h): what this machine gives a yard, and what a yard has piled
// up.

// Limits of inotify for a user, by which the data manager hears of new data; 0: not told.
struct WatchFacts {
  std::uint64_t watches = 0;
  std::uint64_t instances = 0;
};
Finding CheckWatches(const WatchFacts& facts);

struct MemoryFacts {  // In bytes; a total of 0: not told, or no swap.
  std::uint64_t total = 0, available = 0;
  std::uint64_t swap_total = 0, swap_free = 0;
};
// A finding about memory and one about swap.
Findings CheckMemory(const MemoryFacts& facts);

// Processes that a user may have; all ones: any number.
Finding CheckProcessLimit(std::uint64_t limit);

// The sockets of tasks lie below it, and a socket's path has at most 107 bytes.
Finding CheckSocketPaths(const std::string& runtime_directory);

struct LogFacts {
  std::string path;
  std::uint64_t bytes = 0, files = 0;
};
Finding CheckLogs(const LogFacts& facts);

struct TrialFacts {
  std::uint64_t running = 0, waiting = 0;
  std::string first = {}, reason = {};  // The first trial that waits: its id, and for what.
};
Finding CheckTrials(const TrialFacts& facts);

// A trial or a job that can never start, as the yard has not what it asks for.
struct StuckFacts {
  std::string id, why;
};
Findings CheckStuck(const std::vector<StuckFacts>& stuck);

// Shims of jobs that the launcher has never heard of: its database was lost or replaced, and their
// tasks belong to nobody. No finding if `strays` is empty.
Findings CheckStrayShims(const std::vector<LeftoverFacts::Shim>& strays);
// Shims without a control socket. No finding if `shims` is empty.
Findings CheckUnreachableShims(const std::vector<LeftoverFacts::Shim>& shims);

// A proxy is in the way of programs of this machine that speak gRPC (tensorboard_environment.h):
// TensorBoard reads its runs by Python then, and does not say so. Nothing if none is.
Findings CheckProxy(bool hides_localhost);

// ---- What the machine shows. `read` is for a file of /proc.

using FileReader = std::function<std::optional<std::string>(const std::string& path)>;
std::optional<std::string> ReadProcFile(const std::string& path);

WatchFacts LookAtWatches(const FileReader& read = ReadProcFile);
MemoryFacts LookAtMemory(const FileReader& read = ReadProcFile);
std::uint64_t ProcessLimit();
LogFacts LookAtLogs(const std::string& directory);

}  // namespace yard

#endif  // TOOLS_YARD_SERVICES_MACHINE_HEALTH_H_
