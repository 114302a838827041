#ifndef TOOLS_YARD_FOLLOW_LIVE_NAMES_H_
#define TOOLS_YARD_FOLLOW_LIVE_NAMES_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "bus/call/client.h"
#include "bus/schema/envelope_generated.h"

namespace yard {

// Names of these kinds that begin with `prefix` (of tags: of the run `of`), from the services that
// have them, asked all at once. Blocks for `timeout` at most: what has not answered by then, or not
// well, is left out. Each name once, in the order of the kinds.
std::vector<msg::NameT> LiveNames(bus::Client& client, const std::vector<std::string_view>& kinds,
                                  const std::string& prefix, const std::string& of,
                                  absl::Duration timeout);

}  // namespace yard

#endif  // TOOLS_YARD_FOLLOW_LIVE_NAMES_H_
