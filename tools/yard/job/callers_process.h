#ifndef TOOLS_YARD_JOB_CALLERS_PROCESS_H_
#define TOOLS_YARD_JOB_CALLERS_PROCESS_H_

#include "bus/schema/launcher_generated.h"

namespace yard {

// Returns the properties that this process inherited from its shell, besides the environment:
// umask, niceness, CPU affinity and limits. A program that the yard runs for it gets the same ones,
// as it would from nohup, at or srun. Any thread.
msg::CallersProcessT CallersProcess();

}  // namespace yard

#endif  // TOOLS_YARD_JOB_CALLERS_PROCESS_H_
