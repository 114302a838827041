#ifndef TOOLS_YARD_COMPLETION_WORDS_H_
#define TOOLS_YARD_COMPLETION_WORDS_H_

#include <string>
#include <string_view>
#include <vector>

namespace yard {

// The candidates for the word being typed.
struct CompletionWords {
  struct Word {
    std::string text;  // Replaces the whole word being typed.
    std::string note;  // Description, for shells that show it.
  };
  std::vector<Word> words = {};  // All begin with the typed text.

  // Kinds of Common.Names whose names are candidates ("trial", "run"), if they begin with `prefix`;
  // tags are those of the run `of`. Each gets the prefix `before` ("--metric="). "method" is no
  // such kind, but stands for the methods of the service `of`, from the schema.
  std::vector<std::string_view> kinds = {};
  std::string prefix = {}, of = {}, before = {};

  // The word may be a path, or anything unknown to the yard.
  bool is_file = false;
};

// Returns the candidates for the last of `words`, which may be empty; `words` are those after
// "yard", unquoted. Candidates are verbs, then the flags and values of the verb; after "--", the
// words are another program's. Makes no calls.
CompletionWords FindCompletions(const std::vector<std::string>& words);

}  // namespace yard

#endif  // TOOLS_YARD_COMPLETION_WORDS_H_
