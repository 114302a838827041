#ifndef TOOLS_YARD_CLI_CONFIGURATION_DIRECTORY_H_
#define TOOLS_YARD_CLI_CONFIGURATION_DIRECTORY_H_

#include <string>
#include <vector>

namespace yard {

// Where this user keeps what is of the yard and is typed or chosen by hand:
// $XDG_CONFIG_HOME/trainyard, else ~/.config/trainyard; empty if the environment ("NAME=value")
// names neither. Touches no file.
std::string ConfigurationDirectory(const std::vector<std::string>& environment);

}  // namespace yard

#endif  // TOOLS_YARD_CLI_CONFIGURATION_DIRECTORY_H_
