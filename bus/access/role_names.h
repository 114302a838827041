#ifndef BUS_ACCESS_ROLE_NAMES_H_
#define BUS_ACCESS_ROLE_NAMES_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "bus/schema/method.h"

namespace bus {

// Names of the roles, each of which includes the ones before it: read, publish, control, admin.
std::string_view NameOfRole(Role role);
// Returns InvalidArgument, which names the four roles, for any other name.
absl::StatusOr<Role> RoleOfName(std::string_view name);

}  // namespace bus

#endif  // BUS_ACCESS_ROLE_NAMES_H_
