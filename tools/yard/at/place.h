#ifndef TOOLS_YARD_AT_PLACE_H_
#define TOOLS_YARD_AT_PLACE_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace yard {

// A yard on another machine, as given after --at.
struct Place {
  std::string host = {};     // As ssh takes it: name, alias, user@host, ssh://user@host:port.
  std::string program = {};  // Path of yard there, absolute or in ~/; empty to search for it.
};

// Returns true for a path that no shell changes: letters, digits and -_./+@~.
bool IsPlainPath(std::string_view path);

// Parses "HOST" or "HOST:/path/to/yard". InvalidArgument explains the error: no host, or one that
// ssh would read as an option.
absl::StatusOr<Place> ParsePlace(std::string_view text);

// Removes "--at HOST" or "--at=HOST" from the beginning of `words`. Returns nothing for this
// machine: neither the words nor `variable` (the value of $YARD_AT, may be null) name another one.
// `--at ''` selects this machine whatever the variable says. InvalidArgument as ParsePlace().
absl::StatusOr<std::optional<Place>> TakePlace(std::vector<std::string>& words,
                                               const char* variable);

}  // namespace yard

#endif  // TOOLS_YARD_AT_PLACE_H_
