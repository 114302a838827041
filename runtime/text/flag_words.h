#ifndef RUNTIME_TEXT_FLAG_WORDS_H_
#define RUNTIME_TEXT_FLAG_WORDS_H_

namespace runtime {

// Lets users type flags with hyphens: changes "--log-level=debug" to "--log_level=debug", in place,
// before main() parses its arguments. Leaves values, and arguments after "--", unchanged.
void TakeHyphens(int argc, char** argv);

}  // namespace runtime

#endif  // RUNTIME_TEXT_FLAG_WORDS_H_
