#ifndef TOOLS_YARD_WHAT_MAY_FOLLOW_H_
#define TOOLS_YARD_WHAT_MAY_FOLLOW_H_

#include <string>
#include <string_view>
#include <vector>

namespace yard {

// The words that may stand where a person types.
struct WhatMayFollow {
  struct Word {
    std::string text;  // In place of the whole word that is typed.
    std::string note;  // Describes the word, for shells that show it.
  };
  std::vector<Word> words = {};  // All begin with what is typed.

  // Kinds of Common.Names whose names may stand here ("trial", "run"), if they begin with `prefix`;
  // of tags: of the run `of`. `before` ("--metric=") goes before each. "method" is none of those:
  // the methods of the service `of`, which the schema has.
  std::vector<std::string_view> kinds = {};
  std::string prefix = {}, of = {}, before = {};

  // A path, or a word of which the yard knows nothing.
  bool is_file = false;
};

// `words` are those behind "yard", without a shell's quotes; the last one is being typed and may be
// empty. Verbs, then the flags and values of the verb; behind "--" the words are another program's.
// Calls nobody.
WhatMayFollow WhatMayFollowWords(const std::vector<std::string>& words);

}  // namespace yard

#endif  // TOOLS_YARD_WHAT_MAY_FOLLOW_H_
