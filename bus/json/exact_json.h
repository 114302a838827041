#ifndef BUS_JSON_EXACT_JSON_H_
#define BUS_JSON_EXACT_JSON_H_

#include <string_view>

#include "nlohmann/json.hpp"

namespace bus {

// For JSON readers whose numbers are doubles, such as jq: an integer beyond 2^53, which they would
// round, becomes a string of its digits.

// Parses `text` in this way; an integer of any length keeps all its digits. Returns a discarded
// value (as json::parse without exceptions does) if `text` is not JSON.
nlohmann::json ParseExactJson(std::string_view text);
// Returns `value` with every such integer converted.
nlohmann::json ExactJson(nlohmann::json value);

}  // namespace bus

#endif  // BUS_JSON_EXACT_JSON_H_
