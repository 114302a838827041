#ifndef RUNTIME_TEXT_PRINTABLE_H_
#define RUNTIME_TEXT_PRINTABLE_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace runtime {

// How many bytes the first character of `text`, which is not empty, takes; 0: it is not UTF-8.
std::size_t CharacterBytes(std::string_view text);

// `text` with every control character (but tab) and every invalid UTF-8 byte as \xXX, so that a
// name or a log line cannot drive the terminal of who reads it. Control are C0, DEL, C1, line and
// paragraph separators, and what turns the direction of text around.
std::string Printable(std::string_view text);
// The same for several lines, whose ends stay.
std::string PrintableLines(std::string_view text);

}  // namespace runtime

#endif  // RUNTIME_TEXT_PRINTABLE_H_
