#ifndef TOOLS_YARD_TEXT_PLAIN_NUMBERS_H_
#define TOOLS_YARD_TEXT_PLAIN_NUMBERS_H_

#include <string>
#include <string_view>

namespace yard {

// `name` with every number in it written in one way, so that "lr=1e-4" and "lr=0.0001" are alike.
std::string WithPlainNumbers(std::string_view name);

}  // namespace yard

#endif  // TOOLS_YARD_TEXT_PLAIN_NUMBERS_H_
