#ifndef TOOLS_YARD_PRINTABLE_H_
#define TOOLS_YARD_PRINTABLE_H_

#include <string>
#include <string_view>

namespace yard {

// `text` with every control character (but tab) and every invalid UTF-8 byte as \xXX, so that a
// name or a log line cannot drive the terminal.
std::string Printable(std::string_view text);

}  // namespace yard

#endif  // TOOLS_YARD_PRINTABLE_H_
