#ifndef TOOLS_YARD_COMPLETE_H_
#define TOOLS_YARD_COMPLETE_H_

#include <string>
#include <vector>

#include "tools/yard/cli/context.h"

namespace yard {

// Serves the scripts of `yard completion`, which call `yard completion complete -- WORD...`, where
// the last word is being typed.
//
// Prints what may stand there, a line each: the word, a tab, and what it is. Names come from the
// services, for 80 ms in all; where the yard is down, no names come, and nothing is said or
// started. Names that cannot be typed in a line (control characters, or not UTF-8) are left out.
inline constexpr int kNothingOfOurs = 1;  // A path, or any word: the shell knows better.
int Complete(Context& context, const std::vector<std::string>& words);

}  // namespace yard

#endif  // TOOLS_YARD_COMPLETE_H_
