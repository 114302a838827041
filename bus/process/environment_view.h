#ifndef BUS_PROCESS_ENVIRONMENT_VIEW_H_
#define BUS_PROCESS_ENVIRONMENT_VIEW_H_

#include <string>
#include <string_view>
#include <vector>

#include "bus/schema/common_generated.h"

namespace bus {

// Stands for a value that is shown to nobody.
inline constexpr std::string_view kHiddenValue = "(hidden)";

// True if a variable of this name is likely to hold a secret: TOKEN, SECRET, KEY, PASS, CREDENTIAL,
// AUTH, COOKIE or PRIVATE is part of it, in whatever case.
bool NamesSecret(std::string_view name);

// The part of an environment ("NAME=value" each) that a message shows, by name. A value with a
// secret's name, and one with a password in an address ("https://me:word@host"), is kHiddenValue
// whoever asks.
std::vector<std::string> ViewOf(std::vector<std::string> environment, msg::EnvironmentView view);

}  // namespace bus

#endif  // BUS_PROCESS_ENVIRONMENT_VIEW_H_
