#ifndef TOOLS_YARD_SERVICES_OUTDATED_H_
#define TOOLS_YARD_SERVICES_OUTDATED_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "runtime/file/locations.h"
#include "tools/yard/services/yard_state.h"

namespace yard {

// True if the process runs another file than `program`: that was replaced (by an upgrade, say)
// after the process was started, or it is of another installation. False if it cannot be told.
bool RunsAnotherProgram(pid_t pid, const std::string& program);

// Path of what would be started as `service` now; empty if it is not found.
std::string ProgramOf(const std::string& service, const Wanted& wanted);

// The services that run another program than would be started now, the launcher first: it is
// what starts the others. Not those that are somebody else's to restart (--supervisor=external).
std::vector<std::string> OutdatedServices(const runtime::Locations& locations,
                                          const Wanted& wanted);

}  // namespace yard

#endif  // TOOLS_YARD_SERVICES_OUTDATED_H_
