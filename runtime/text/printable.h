#ifndef RUNTIME_TEXT_PRINTABLE_H_
#define RUNTIME_TEXT_PRINTABLE_H_

#include <string>
#include <string_view>

namespace runtime {

// Returns `text` with every control character (except tab) and every invalid UTF-8 byte as \xXX, so
// that a name or a log line cannot control the reader's terminal. Control characters are C0, DEL,
// C1, line and paragraph separators, and characters that change the direction of text.
std::string Printable(std::string_view text);
// The same for several lines; keeps the line ends.
std::string PrintableLines(std::string_view text);

// True if `text` can be shown unchanged: it is UTF-8 without control characters, tab and newline
// included. True for empty text.
bool IsPrintable(std::string_view text);

}  // namespace runtime

#endif  // RUNTIME_TEXT_PRINTABLE_H_
