#ifndef TOOLS_YARD_FOLLOW_FAILURE_BLOCK_H_
#define TOOLS_YARD_FOLLOW_FAILURE_BLOCK_H_

#include <string>

#include "bus/schema/launcher_generated.h"

namespace yard {

// Describes the end of a job for people and for scripts. Pure.

// Returns true if the job failed or was lost, and nobody had asked it to stop.
bool HasFailed(const msg::JobT& job);

// Returns the text printed last about a failed job, with everything needed to find the cause: the
// task that failed first and why, its last lines and its log file; then the tasks that were ended
// as a consequence, and those that also failed. Whole lines, without control characters. Empty for
// a job that has not failed.
std::string FailureBlock(const msg::JobT& job);

// Returns the exit code for scripts: 0 if the job ended well or was stopped; otherwise that of the
// task that failed first: its exit code, or 128 plus the signal's number, as in shells; 127 if its
// program was not found and 126 if it could not be executed; 5 if the job exceeded its run time; 1
// if nothing is known.
int JobExitCode(const msg::JobT& job);

}  // namespace yard

#endif  // TOOLS_YARD_FOLLOW_FAILURE_BLOCK_H_
