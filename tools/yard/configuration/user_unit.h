#ifndef TOOLS_YARD_CONFIGURATION_USER_UNIT_H_
#define TOOLS_YARD_CONFIGURATION_USER_UNIT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace yard {

// A systemd user unit that runs `yard up FILE` when the user's systemd starts.
struct UserUnit {
  std::string path;  // .../systemd/user/trainyard.service
  std::string link;  // Enables it: .../default.target.wants/trainyard.service
  std::string text;
};

// Makes the unit. `yard` and `file` are absolute paths; variables of `environment` (the caller's)
// that locate a yard are copied into it. InvalidArgument if a path or a variable contains a line
// break, or if the directory of the user's units is unknown.
absl::StatusOr<UserUnit> MakeUserUnit(const std::string& yard, const std::string& file,
                                      const std::vector<std::string>& environment);

// Writes the unit and its link, and replaces an earlier unit. FailedPrecondition if systemd already
// starts the services individually (trainyard.target).
absl::Status InstallUserUnit(const UserUnit& unit);

}  // namespace yard

#endif  // TOOLS_YARD_CONFIGURATION_USER_UNIT_H_
