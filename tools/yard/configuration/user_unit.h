#ifndef TOOLS_YARD_CONFIGURATION_USER_UNIT_H_
#define TOOLS_YARD_CONFIGURATION_USER_UNIT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace yard {

// The systemd user unit that runs `yard up FILE` when its user's systemd starts.
struct UserUnit {
  std::string path;  // .../systemd/user/trainyard.service
  std::string link;  // By which systemd starts it: .../default.target.wants/trainyard.service
  std::string text;
};

// `yard` and `file` are absolute paths; `environment` is the caller's, of which the variables that
// say where the yard is go into the unit. InvalidArgument where a path or a variable has a line
// break, or nothing says where the units of a user are.
absl::StatusOr<UserUnit> MakeUserUnit(const std::string& yard, const std::string& file,
                                      const std::vector<std::string>& environment);

// Writes the unit and the link; the unit of before, if there is one, is replaced.
// FailedPrecondition if systemd starts the services one by one already (trainyard.target).
absl::Status InstallUserUnit(const UserUnit& unit);

}  // namespace yard

#endif  // TOOLS_YARD_CONFIGURATION_USER_UNIT_H_
