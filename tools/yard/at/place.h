#ifndef TOOLS_YARD_AT_PLACE_H_
#define TOOLS_YARD_AT_PLACE_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace yard {

// A yard on another machine, as it is named after --at.
struct Place {
  std::string host = {};     // As ssh takes it: a name, an alias, user@host, ssh://user@host:port.
  std::string program = {};  // Path of yard there, absolute or below ~/; empty: it is looked for.
};

// True for a path that every shell takes as it is: letters, digits and -_./+@~.
bool IsPlainPath(std::string_view path);

// "HOST" or "HOST:/path/to/yard". InvalidArgument says what is wrong: no host, or one that ssh
// would take for an option.
absl::StatusOr<Place> ParsePlace(std::string_view text);

// Takes "--at HOST" or "--at=HOST" off the beginning of `words`. Nothing: this machine is meant,
// because neither they nor `variable` (the value of $YARD_AT, which may be null) name another one;
// `--at ''` names this one whatever the variable says. InvalidArgument as ParsePlace().
absl::StatusOr<std::optional<Place>> TakePlace(std::vector<std::string>& words,
                                               const char* variable);

}  // namespace yard

#endif  // TOOLS_YARD_AT_PLACE_H_
