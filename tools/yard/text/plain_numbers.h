#ifndef TOOLS_YARD_TEXT_PLAIN_NUMBERS_H_
#define TOOLS_YARD_TEXT_PLAIN_NUMBERS_H_

#include <string>
#include <string_view>

namespace yard {

// Returns `name` with all numbers in a canonical form, so that "lr=1e-4" and "lr=0.0001" become
// equal.
std::string WithPlainNumbers(std::string_view name);

}  // namespace yard

#endif  // TOOLS_YARD_TEXT_PLAIN_NUMBERS_H_
