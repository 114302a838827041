#ifndef TOOLS_YARD_TOP_FACTS_JSON_H_
#define TOOLS_YARD_TOP_FACTS_JSON_H_

#include "nlohmann/json.hpp"
#include "tools/yard/top/facts.h"

namespace yard::top {

// JSON that `yard top --json` prints: one object with `time`, `services`, `trials`, `jobs` and
// `usage`; trials and jobs as `yard ps --json` has them.
nlohmann::json ToJson(const Facts& facts);

}  // namespace yard::top

#endif  // TOOLS_YARD_TOP_FACTS_JSON_H_
