#ifndef TRAINER_FUNCTION_FUNCTION_MAIN_H_
#define TRAINER_FUNCTION_FUNCTION_MAIN_H_

#include <string>
#include <vector>

#include "absl/time/time.h"

namespace trainer {

// Returns the command that runs a function of the program at `executable` as a trial. The trainer
// fails an attempt that sends no line for `heartbeat` (zero: no limit), so the program sends one
// four times as often.
std::vector<std::string> FunctionCommand(const std::string& executable, const std::string& function,
                                         absl::Duration heartbeat);

// The main() of such a command: runs the function on the report channel of this process's
// environment and returns the exit code: 0 on success; 1 with the error on stderr; 143 if SIGTERM
// or SIGINT ended it, which unwinds the function at its next report. If the function does not end,
// it ends the process with _exit().
int FunctionMain(const std::string& function, absl::Duration heartbeat);

}  // namespace trainer

#endif  // TRAINER_FUNCTION_FUNCTION_MAIN_H_
