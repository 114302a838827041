#ifndef TOOLS_YARD_COMPLETE_H_
#define TOOLS_YARD_COMPLETE_H_

#include <string>
#include <vector>

#include "tools/yard/cli/context.h"

namespace yard {

// Implements `yard completion complete -- WORD...`, which the scripts of `yard completion` call;
// the last word is being typed.
//
// Prints one candidate a line: the word, a tab, and a description. Names come from the services,
// within 80 ms in all; if the yard is down, there are no names, no error, and nothing is started.
// Omits names that cannot be typed (control characters, invalid UTF-8).
inline constexpr int kNothingOfOurs = 1;  // A path or any word: the shell completes it.
int Complete(Context& context, const std::vector<std::string>& words);

}  // namespace yard

#endif  // TOOLS_YARD_COMPLETE_H_
