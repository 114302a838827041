#ifndef RUNTIME_TEXT_PRINTABLE_H_
#define RUNTIME_TEXT_PRINTABLE_H_

#include <string>
#include <string_view>

namespace runtime {

// `text` with every control character (but tab) and every invalid UTF-8 byte as \xXX, so that a
// name or a log line cannot drive the terminal of who reads it. Control are C0, DEL, C1, line and
// paragraph separators, and what turns the direction of text around.
std::string Printable(std::string_view text);
// The same for several lines, whose ends stay.
std::string PrintableLines(std::string_view text);

// May `text` be shown to anybody as it is? False for what is not UTF-8 and for control characters,
// tab and newline too. Empty text is fine.
bool IsPrintable(std::string_view text);

}  // namespace runtime

#endif  // RUNTIME_TEXT_PRINTABLE_H_
