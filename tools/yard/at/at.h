#ifndef TOOLS_YARD_AT_AT_H_
#define TOOLS_YARD_AT_AT_H_

#include <optional>
#include <string>
#include <vector>

#include "tools/yard/at/place.h"
#include "tools/yard/cli/context.h"

namespace yard {

// A command line for the yard on another machine. Every verb runs there, as it would after a login,
// with the streams, terminal and signals of here; `ui` and `tensorboard` also forward a port, and
// stay. Returns its exit code; 255: no yard could be reached.
int RunAt(const Place& place, const std::vector<std::string>& words,
          const std::vector<std::string>& environment, Interrupt* interrupt);

// True for words that are answered here, whatever --at says: help, and what a shell needs for
// completion.
bool IsAnsweredHere(const std::vector<std::string>& words);

// Completion (complete.h) of `words`, with the names that the yard there knows. Nothing: no
// connection is kept; none is opened at a key. Half a second at most.
std::optional<int> CompleteAt(Context& context, const Place& place,
                              const std::vector<std::string>& words);

// Hosts that ~/.ssh/config names, without patterns. At most a thousand.
std::vector<std::string> HostsOfSsh(const std::string& home);

}  // namespace yard

#endif  // TOOLS_YARD_AT_AT_H_
