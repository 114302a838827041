#ifndef RUNTIME_TEXT_SHELL_WORD_H_
#define RUNTIME_TEXT_SHELL_WORD_H_

#include <string>
#include <string_view>

namespace runtime {

// A word for a POSIX shell, which reads it back as `text`: as it is, or in quotes where it must be.
// It holds the bytes of `text`: Printable() before a terminal.
std::string ShellWord(std::string_view text);

}  // namespace runtime

#endif  // RUNTIME_TEXT_SHELL_WORD_H_
