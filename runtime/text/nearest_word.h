#ifndef RUNTIME_TEXT_NEAREST_WORD_H_
#define RUNTIME_TEXT_NEAREST_WORD_H_

#include <string_view>
#include <vector>

namespace runtime {

// Returns the word of `words` nearest to `word`, if it is near enough to be the intended one (at
// most one letter, or a third of the letters, is wrong); the first of equally near ones. Otherwise
// empty. Any thread.
std::string_view NearestWord(std::string_view word, const std::vector<std::string_view>& words);

}  // namespace runtime

#endif  // RUNTIME_TEXT_NEAREST_WORD_H_
