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
  std::vector<std::string> rest;  // The words after "--".
};

// Parses the words after the program's name. Without a verb it is `status`, with a hint of what
// to do next. For --help, --version and errors of usage it prints and returns the exit code, with
// `line->verb` null.
int ParseCommandLine(std::vector<std::string> words, std::ostream& out, std::ostream& err,
                     CommandLine* line);

// An option as a verb has declared it, for completion.
struct DeclaredOption {
  std::vector<std::string> flags;  // "-n", "--lines"; none: a positional.
  std::string word;                // "lines"; of a positional the word that help shows.
  std::string help;                // Empty: help does not list it.
  bool takes_value = false;
  bool repeats = false;  // A positional that takes all words that are left.
};
// All of a verb, --help, --json, --utc and --color too; positionals in their order.
std::vector<DeclaredOption> OptionsOf(const VerbEntry& entry);

}  // namespace yard

#endif  // TOOLS_YARD_COMMAND_LINE_H_
