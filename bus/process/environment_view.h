#ifndef BUS_PROCESS_ENVIRONMENT_VIEW_H_
#define BUS_PROCESS_ENVIRONMENT_VIEW_H_

#include <string>
#include <string_view>
#include <vector>

#include "bus/schema/common_generated.h"

namespace bus {

// Replaces the value of a secret variable.
inline constexpr std::string_view kHiddenValue = "(hidden)";

// True if a variable of this name probably holds a secret: the name contains TOKEN, SECRET, KEY,
// PASS, CREDENTIAL, AUTH, COOKIE or PRIVATE, in any case.
bool NamesSecret(std::string_view name);

// Returns the part of an environment ("NAME=value" each) that a message may show, by name. For
// every caller, the value of a variable whose name suggests a secret, and a value with a password
// in an address ("https://me:word@host"), become kHiddenValue.
std::vector<std::string> ViewOf(std::vector<std::string> environment, msg::EnvironmentView view);

}  // namespace bus

#endif  // BUS_PROCESS_ENVIRONMENT_VIEW_H_
