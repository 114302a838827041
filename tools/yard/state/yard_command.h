#ifndef TOOLS_YARD_STATE_YARD_COMMAND_H_
#define TOOLS_YARD_STATE_YARD_COMMAND_H_

#include <string>
#include <string_view>

namespace yard {

// Returns a command for people to paste, such as `yard plot 'a b'`. `name` may hold any byte: it is
// quoted as one shell word, and never read as a flag. Apply Printable() before a terminal.
std::string YardCommand(std::string_view verb, std::string_view name);
// Returns the command that makes `directory` the runtime directory of a shell, which otherwise
// takes it from the environment variable `variable`.
std::string CommandToUse(const std::string& directory, const std::string& variable);

}  // namespace yard

#endif  // TOOLS_YARD_STATE_YARD_COMMAND_H_
