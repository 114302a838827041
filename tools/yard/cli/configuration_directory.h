#ifndef TOOLS_YARD_CLI_CONFIGURATION_DIRECTORY_H_
#define TOOLS_YARD_CLI_CONFIGURATION_DIRECTORY_H_

#include <string>
#include <vector>

namespace yard {

// Returns the directory of this user's files for the yard that are written or chosen by hand:
// $XDG_CONFIG_HOME/trainyard, else ~/.config/trainyard; empty if the environment ("NAME=value") has
// neither variable. Touches no file.
std::string ConfigurationDirectory(const std::vector<std::string>& environment);

}  // namespace yard

#endif  // TOOLS_YARD_CLI_CONFIGURATION_DIRECTORY_H_
