#ifndef BUS_JSON_EXACT_JSON_H_
#define BUS_JSON_EXACT_JSON_H_

#include <string_view>

#include "nlohmann/json.hpp"

namespace bus {

// For readers of JSON whose numbers are doubles, as jq's: an integer beyond 2^53, which they would
// round, is a string of its digits.

// Parses `text` in this way: an integer has all its digits however many they are. Discarded (as of
// json::parse without exceptions) if it is no JSON.
nlohmann::json ParseExactJson(std::string_view text);
// `value` with every integer in it so.
nlohmann::json ExactJson(nlohmann::json value);

}  // namespace bus

#endif  // BUS_JSON_EXACT_JSON_H_
