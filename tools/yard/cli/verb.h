#ifndef TOOLS_YARD_CLI_VERB_H_
#define TOOLS_YARD_CLI_VERB_H_

#include <array>
#include <memory>

#include "tools/yard/cli/context.h"
#include "tools/yard/cli/option_set.h"
#include "tools/yard/cli/verb_exit_code.h"

namespace yard {

// A verb of the command line: its options and its action.
class Verb {
 public:
  virtual ~Verb() = default;
  // Declares the options, whose values are in members of the verb.
  virtual void Declare(OptionSet& options) = 0;
  // Runs the verb with the parsed options, and returns the exit code. May block.
  virtual int Run(Context& context) = 0;
};

// A row of the table of verbs (verbs/verbs.h).
struct VerbEntry {
  const char* name;
  const char* summary;  // One line, at most 60 characters.
  std::array<const char*, 2> examples;
  // If the yard is wanted and its launcher is dead, the launcher is started before the verb runs.
  bool needs_yard;
  std::unique_ptr<Verb> (*make)();
  // Meaning of the words after "--": further positional words of the verb, or the command line of a
  // program. With kAllWords, all words after the verb are the program's unless there is a "--".
  enum class Words { kOwn, kProgram, kAllWords };
  Words words = Words::kOwn;
  // The verb changes something, so it runs to its end even if the reader of its output has gone.
  bool goes_on = false;
};
}  // namespace yard

#endif  // TOOLS_YARD_CLI_VERB_H_
