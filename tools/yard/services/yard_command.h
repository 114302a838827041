#ifndef TOOLS_YARD_SERVICES_YARD_COMMAND_H_
#define TOOLS_YARD_SERVICES_YARD_COMMAND_H_

#include <string>
#include <string_view>

namespace yard {

// A command that a person may paste next, such as `yard plot 'a b'`: `name`, which may hold any
// byte, is one word of a shell, and no flag. For a terminal: Printable().
std::string YardCommand(std::string_view verb, std::string_view name);

}  // namespace yard

#endif  // TOOLS_YARD_SERVICES_YARD_COMMAND_H_
