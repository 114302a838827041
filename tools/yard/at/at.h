#ifndef TOOLS_YARD_AT_AT_H_
#define TOOLS_YARD_AT_AT_H_

#include <optional>
#include <string>
#include <vector>

#include "tools/yard/at/place.h"
#include "tools/yard/cli/context.h"

namespace yard {

// Runs a command line against the yard on another machine. The verb runs there, as after a login,
// with this process's streams, terminal and signals; `ui` and `tensorboard` also forward a port,
// and keep running. Returns the verb's exit code; 255 if no yard could be reached. Blocks.
int RunAt(const Place& place, const std::vector<std::string>& words,
          const std::vector<std::string>& environment, Interrupt* interrupt);

// Returns true for words that are handled on this machine whatever --at says: help, and the
// requests of shells for completion.
bool IsAnsweredHere(const std::vector<std::string>& words);

// Completes `words` (complete.h) with the names of the yard there. Returns nothing without an open
// connection: a keypress never opens one. Blocks for at most half a second.
std::optional<int> CompleteAt(Context& context, const Place& place,
                              const std::vector<std::string>& words);

// Returns the hosts named in ~/.ssh/config, without patterns. At most a thousand.
std::vector<std::string> HostsOfSsh(const std::string& home);

}  // namespace yard

#endif  // TOOLS_YARD_AT_AT_H_
