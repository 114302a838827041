#include "bus/access/role_names.h"

#include <array>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "runtime/text/printable.h"
#include "runtime/text/string_view.h"

namespace bus {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"read", "publish", "control", "admin"};

}  // namespace

std::string_view NameOfRole(Role role) { return kNames[static_cast<std::size_t>(role)]; }

absl::StatusOr<Role> RoleOfName(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<Role>(i);
  }
  return absl::InvalidArgumentError(absl::StrCat("\"", runtime::Printable(name),
                                                 "\" is no role; the roles are read, publish, "
                                                 "control and admin"));
}

}  // namespace bus
