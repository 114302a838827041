#ifndef TOOLS_YARD_TOP_FACTS_JSON_H_
#define TOOLS_YARD_TOP_FACTS_JSON_H_

#include "nlohmann/json.hpp"
#include "tools/yard/top/facts.h"

namespace yard::top {

// Returns the object that `yard top --json` prints: `time`, `services`, `trials`, `jobs` and
// `usage`; trials and jobs as in `yard ps --json`.
nlohmann::json ToJson(const Facts& facts);

}  // namespace yard::top

#endif  // TOOLS_YARD_TOP_FACTS_JSON_H_
