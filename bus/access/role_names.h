#ifndef BUS_ACCESS_ROLE_NAMES_H_
#define BUS_ACCESS_ROLE_NAMES_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "bus/schema/method.h"

namespace bus {

// The words for roles, each of which includes those before it: read, publish, control, admin.
std::string_view NameOfRole(Role role);
// InvalidArgument names the four.
absl::StatusOr<Role> RoleOfName(std::string_view name);

}  // namespace bus

#endif  // BUS_ACCESS_ROLE_NAMES_H_
