#ifndef RUNTIME_TEXT_SHELL_WORD_H_
#define RUNTIME_TEXT_SHELL_WORD_H_

#include <string>
#include <string_view>

namespace runtime {

// Returns a word that a POSIX shell reads back as `text`, quoted if necessary. The word contains
// the bytes of `text` unchanged: apply Printable() before showing it on a terminal.
std::string ShellWord(std::string_view text);

}  // namespace runtime

#endif  // RUNTIME_TEXT_SHELL_WORD_H_
