#ifndef TOOLS_YARD_AT_SSH_WORDS_H_
#define TOOLS_YARD_AT_SSH_WORDS_H_

#include <string>
#include <string_view>
#include <vector>

namespace yard {

// Returns the value of a variable in `environment` ("NAME=value"); empty if unset.
std::string EnvironmentValue(const std::vector<std::string>& environment, std::string_view name);

// Returns the first words of every ssh command: $YARD_SSH split at spaces, else "ssh".
std::vector<std::string> SshWords(const std::vector<std::string>& environment);

// Returns "ssh gpu1", which a person may type to try ssh; printable.
std::string TypedSsh(const std::vector<std::string>& ssh, std::string_view host);

}  // namespace yard

#endif  // TOOLS_YARD_AT_SSH_WORDS_H_
