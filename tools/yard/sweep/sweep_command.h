#ifndef TOOLS_YARD_SWEEP_SWEEP_COMMAND_H_
#define TOOLS_YARD_SWEEP_SWEEP_COMMAND_H_

#include <string>
#include <vector>

namespace yard {

// The command of a sweep's trials, expanded from words with W&B's macros. ${env}, ${interpreter}
// and ${program} must be whole words, ${envvar:NAME} may be part of one; macros about the
// configuration (tuning/engine/trial_command.h) stay, and each trial fills them in.
struct SweepCommand {
  std::vector<std::string> words = {};
  // Errors, and words that are probably mistakes; each quotes the word.
  std::vector<std::string> problems = {}, notices = {};
};

// Returns W&B's default for a file without a command.
std::vector<std::string> DefaultSweepCommand();

// Expands the macros. `program` and `interpreter` replace ${program} (by nothing if empty) and
// ${interpreter}. `environment` is "NAME=value". Pure.
SweepCommand ReadSweepCommand(const std::vector<std::string>& words, const std::string& program,
                              const std::string& interpreter,
                              const std::vector<std::string>& environment);

// Returns "python" if it is on the PATH of `environment`, else "python3". Reads directories.
std::string Interpreter(const std::vector<std::string>& environment);

}  // namespace yard

#endif  // TOOLS_YARD_SWEEP_SWEEP_COMMAND_H_
