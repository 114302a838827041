#ifndef TOOLS_YARD_COMMAND_LINE_H_
#define TOOLS_YARD_COMMAND_LINE_H_

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "tools/yard/cli/verb.h"

namespace yard {

// A parsed command line.
struct CommandLine {
  const VerbEntry* entry = nullptr;
  std::unique_ptr<Verb> verb;  // With its options set; null if there is nothing to run.
  bool json = false;
  bool utc = false;
  std::string color = "auto";
  std::vector<std::string> rest;  // Words after "--".
};

// Parses the words after the program's name. Without a verb, it is `status`, with a hint of the
// next step. For --help, --version and usage errors, prints and returns the exit code, with
// `line->verb` null.
int ParseCommandLine(std::vector<std::string> words, std::ostream& out, std::ostream& err,
                     CommandLine* line);

// A declared option of a verb, for completion.
struct DeclaredOption {
  std::vector<std::string> flags;  // "-n", "--lines"; empty for a positional.
  std::string word;                // "lines"; for a positional, its word in the help.
  std::string help;                // Empty if the help does not list it.
  bool takes_value = false;
  bool repeats = false;  // A positional that takes all remaining words.
};
// Returns all options of a verb, including --help, --json, --utc and --color; positionals in order.
std::vector<DeclaredOption> OptionsOf(const VerbEntry& entry);

}  // namespace yard

#endif  // TOOLS_YARD_COMMAND_LINE_H_
