#ifndef TOOLS_YARD_AT_SSH_WORDS_H_
#define TOOLS_YARD_AT_SSH_WORDS_H_

#include <string>
#include <string_view>
#include <vector>

namespace yard {

// The value of a variable of `environment` ("NAME=value" each); empty if it is not set.
std::string EnvironmentValue(const std::vector<std::string>& environment, std::string_view name);

// The first words of every ssh: $YARD_SSH, separated by spaces, else "ssh".
std::vector<std::string> SshWords(const std::vector<std::string>& environment);

// "ssh gpu1" as a person types it to try ssh; printable.
std::string TypedSsh(const std::vector<std::string>& ssh, std::string_view host);

}  // namespace yard

#endif  // TOOLS_YARD_AT_SSH_WORDS_H_
