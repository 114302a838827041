#ifndef TRAINER_FUNCTION_FUNCTION_MAIN_H_
#define TRAINER_FUNCTION_FUNCTION_MAIN_H_

#include <string>
#include <vector>

#include "absl/time/time.h"

namespace trainer {

// The command that runs a function of the program at `executable` as a trial; an attempt without a
// line for `heartbeat` has failed (zero: never), so that it speaks four times as often.
std::vector<std::string> FunctionCommand(const std::string& executable, const std::string& function,
                                         absl::Duration heartbeat);

// The main() of that: runs the function on the report channel of this process's environment, and
// returns its exit code: 0; 1 with the error on stderr; 143 if SIGTERM or SIGINT ended it, which
// lets it unwind at its next report. If the function does not end the process does, by _exit.
int FunctionMain(const std::string& function, absl::Duration heartbeat);

}  // namespace trainer

#endif  // TRAINER_FUNCTION_FUNCTION_MAIN_H_
