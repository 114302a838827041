#ifndef TOOLS_YARD_SWEEP_SWEEP_COMMAND_H_
#define TOOLS_YARD_SWEEP_SWEEP_COMMAND_H_

#include <string>
#include <vector>

namespace yard {

// The command of a sweep's trials, from words with W&B's macros. ${env}, ${interpreter} and
// ${program} are whole words, ${envvar:NAME} may be a part of one; those of the configuration
// (tuning/engine/trial_command.h) stay, for each trial to fill in.
struct SweepCommand {
  std::vector<std::string> words = {};
  // Faults, and words that may not be meant: each with the word.
  std::vector<std::string> problems = {}, notices = {};
};

// W&B's command of a file that has none.
std::vector<std::string> DefaultSweepCommand();

// `program`: what ${program} stands for; empty: nothing. `interpreter`: what ${interpreter} does.
// `environment`: "NAME=value". Pure.
SweepCommand ReadSweepCommand(const std::vector<std::string>& words, const std::string& program,
                              const std::string& interpreter,
                              const std::vector<std::string>& environment);

// "python" if a directory of `environment`'s PATH has it, else "python3". Looks on the disk.
std::string Interpreter(const std::vector<std::string>& environment);

}  // namespace yard

#endif  // TOOLS_YARD_SWEEP_SWEEP_COMMAND_H_
