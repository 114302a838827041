#ifndef TOOLS_YARD_SERVICES_HEALTH_FACTS_H_
#define TOOLS_YARD_SERVICES_HEALTH_FACTS_H_

#include <sys/types.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/file/locations.h"
#include "tools/yard/services/health.h"

namespace yard {

// What this machine shows of a yard, for health.h. Nothing is changed, started or waited for; only
// sockets are connected to, and left at once, to learn whether somebody listens.

DirectoryFacts LookAtDirectory(std::string check, std::string path, std::string variable);

// Space of the file systems that hold these places ({"state", PATH}), each once. A place that is
// not there yet is where its nearest parent is.
std::vector<SpaceFacts> LookAtSpace(const std::vector<std::pair<std::string, std::string>>& places);

// Locks, ready files, sockets of the services and of the tasks' shims.
LeftoverFacts LookForLeftovers(const runtime::Locations& locations);

// The part of it that needs no answer of anybody.
ServiceFacts LookAtService(const runtime::Locations& locations, const std::string& service);

std::uint64_t HardFileLimit();
// Label paths of the programs that `yard up` and the launcher need and that are not there.
std::vector<std::string> MissingPrograms();
// Versions of all libraries that tell them.
std::vector<LibraryFacts> LoadedLibraries();

}  // namespace yard

#endif  // TOOLS_YARD_SERVICES_HEALTH_FACTS_H_
