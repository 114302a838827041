#ifndef RUNTIME_TEXT_FLAG_WORDS_H_
#define RUNTIME_TEXT_FLAG_WORDS_H_

namespace runtime {

// A flag may be typed with hyphens: before a main() parses its words, "--log-level=debug" becomes
// "--log_level=debug", in place. Values, and what stands behind "--", stay.
void TakeHyphens(int argc, char** argv);

}  // namespace runtime

#endif  // RUNTIME_TEXT_FLAG_WORDS_H_
