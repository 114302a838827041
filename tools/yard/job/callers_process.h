#ifndef TOOLS_YARD_JOB_CALLERS_PROCESS_H_
#define TOOLS_YARD_JOB_CALLERS_PROCESS_H_

#include "bus/schema/launcher_generated.h"

namespace yard {

// Properties that this process has from the shell that has started it, besides its environment:
// umask, niceness, processors, limits. A program that it asks the yard to run gets the same, as it
// would from nohup, at or srun. Any thread.
msg::CallersProcessT CallersProcess();

}  // namespace yard

#endif  // TOOLS_YARD_JOB_CALLERS_PROCESS_H_
