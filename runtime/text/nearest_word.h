#ifndef RUNTIME_TEXT_NEAREST_WORD_H_
#define RUNTIME_TEXT_NEAREST_WORD_H_

#include <string_view>
#include <vector>

namespace runtime {

// The word of `words` that is nearest to `word`, if it is near enough to be meant (a third of its
// letters is wrong at most, or one); the first if several are as near. Else empty. Any thread.
std::string_view NearestWord(std::string_view word, const std::vector<std::string_view>& words);

}  // namespace runtime

#endif  // RUNTIME_TEXT_NEAREST_WORD_H_
