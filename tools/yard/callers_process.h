#ifndef TOOLS_YARD_CALLERS_PROCESS_H_
#define TOOLS_YARD_CALLERS_PROCESS_H_

#include <string>

namespace yard {

// What this process has from the shell that has started it, besides its environment: umask,
// niceness, processors, limits. A program that it asks the yard to run gets the same, as it would
// from nohup, at or srun. As a variable beside the environment, "YARD_CALLER=umask=22;nice=0;...",
// which the launcher takes out before the program is started (launcher/callers_process.h has the
// form). Any thread.
std::string CallersProcess();

}  // namespace yard

#endif  // TOOLS_YARD_CALLERS_PROCESS_H_
