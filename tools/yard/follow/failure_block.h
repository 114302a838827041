#ifndef TOOLS_YARD_FOLLOW_FAILURE_BLOCK_H_
#define TOOLS_YARD_FOLLOW_FAILURE_BLOCK_H_

#include <string>

#include "bus/schema/launcher_generated.h"

namespace yard {

// The end of a job, as a person and as a script see it. Pure.

// Ended, and neither well nor because somebody asked it to stop.
bool HasFailed(const msg::JobT& job);

// The last text that is printed about a job that failed, with all that is needed to find the cause:
// the task that failed first and why, its last lines and where its log is; apart from it the tasks
// that were ended because of it, and those that failed as well. Whole lines, nothing in them drives
// a terminal. Empty for a job that has not failed.
std::string FailureBlock(const msg::JobT& job);

// A script's view of a job that has ended: 0 if it ended well or was stopped; else the exit code of
// the task that failed first, 128 and the signal's number if it was killed, as shells have it; 127
// and 126 if its program was not there or could not be executed; 5 if the job's time was over; 1
// if nothing is known.
int JobExitCode(const msg::JobT& job);

}  // namespace yard

#endif  // TOOLS_YARD_FOLLOW_FAILURE_BLOCK_H_
