#ifndef TOOLS_YARD_SERVICES_OUTDATED_H_
#define TOOLS_YARD_SERVICES_OUTDATED_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "runtime/file/locations.h"
#include "tools/yard/state/wanted.h"

namespace yard {

// Returns true if the process runs another file than `program`: the program was replaced after the
// start (by an upgrade, say), or belongs to another installation. False if that is unknown.
bool RunsAnotherProgram(pid_t pid, const std::string& program);

// Returns the path of the program that `service` would be started with; empty if it is not found.
std::string ProgramOf(const std::string& service, const Wanted& wanted);

// Returns the services that run another program than would be started now, the launcher first,
// because it starts the others. Excludes those with another supervisor (--supervisor=external).
std::vector<std::string> OutdatedServices(const runtime::Locations& locations,
                                          const Wanted& wanted);

}  // namespace yard

#endif  // TOOLS_YARD_SERVICES_OUTDATED_H_
