#ifndef TOOLS_YARD_FOLLOW_LIVE_NAMES_H_
#define TOOLS_YARD_FOLLOW_LIVE_NAMES_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "bus/call/client.h"
#include "bus/schema/envelope_generated.h"

namespace yard {

// Returns the names of these kinds that begin with `prefix` (for tags: of the run `of`), by calling
// the services that have them in parallel. Blocks for at most `timeout`; skips services that fail
// or have not answered by then. Each name once, in the order of the kinds.
std::vector<msg::NameT> LiveNames(bus::Client& client, const std::vector<std::string_view>& kinds,
                                  const std::string& prefix, const std::string& of,
                                  absl::Duration timeout);

}  // namespace yard

#endif  // TOOLS_YARD_FOLLOW_LIVE_NAMES_H_
