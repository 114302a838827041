#ifndef TOOLS_YARD_HEALTH_HEALTH_FACTS_H_
#define TOOLS_YARD_HEALTH_HEALTH_FACTS_H_

#include <sys/types.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/file/locations.h"
#include "tools/yard/health/health.h"

namespace yard {

// Collects the facts about a yard on this machine, for health.h. Changes, starts and waits for
// nothing. To find out whether a socket has a listener, connects to it and closes at once.

DirectoryFacts LookAtDirectory(std::string check, std::string path, std::string variable);

// Returns the space of the file systems that hold these places ({"state", PATH}), each once. A
// place that does not exist yet counts for the file system of its nearest existing parent.
std::vector<SpaceFacts> LookAtSpace(const std::vector<std::pair<std::string, std::string>>& places);

// Finds stale locks, ready files, service sockets and shim sockets.
LeftoverFacts LookForLeftovers(const runtime::Locations& locations);

// Returns the facts about a service that need no call.
ServiceFacts LookAtService(const runtime::Locations& locations, const std::string& service);

std::uint64_t HardFileLimit();
// Returns the Bazel labels of programs that `yard up` and the launcher need but that are missing.
std::vector<std::string> MissingPrograms();
// Returns the versions of all libraries that report one.
std::vector<LibraryFacts> LoadedLibraries();

}  // namespace yard

#endif  // TOOLS_YARD_HEALTH_HEALTH_FACTS_H_
