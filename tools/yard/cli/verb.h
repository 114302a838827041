#ifndef TOOLS_YARD_CLI_VERB_H_
#define TOOLS_YARD_CLI_VERB_H_

#include <array>
#include <memory>

#include "tools/yard/cli/context.h"
#include "tools/yard/cli/exit_code.h"
#include "tools/yard/cli/option_set.h"

namespace yard {

// One verb of the command line: its options, and what it does with them.
class Verb {
 public:
  virtual ~Verb() = default;
  virtual void Declare(OptionSet& options) = 0;
  virtual int Run(Context& context) = 0;
};

// A row of the table of verbs (verbs/verbs.h).
struct VerbEntry {
  const char* name;
  const char* summary;  // One line, at most 60 characters.
  std::array<const char*, 2> examples;
  // The yard must be up: if it is wanted and its launcher is dead, it is started first.
  bool needs_yard;
  std::unique_ptr<Verb> (*make)();
  // Meaning of the words behind "--": more words of the verb that are no flags, or those of a
  // program. kAllWords: so are all words after the verb, unless there is a "--".
  enum class Words { kOwn, kProgram, kAllWords };
  Words words = Words::kOwn;
  // The verb changes something, and goes on to its end also when nobody reads its output any more.
  bool goes_on = false;
};
}  // namespace yard

#endif  // TOOLS_YARD_CLI_VERB_H_
