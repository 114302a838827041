#ifndef TRAINER_RUN_RUN_MODE_H_
#define TRAINER_RUN_RUN_MODE_H_

#include "bus/schema/trainer_generated.h"
#include "runtime/file/file.h"

namespace trainer {

// Returns the mode of a run's directory, from its caller's umask. Files that are created in the
// directory later inherit the directory's permissions at that time.
inline runtime::FileMode RunDirectoryMode(const msg::TrialOptionsT& options) {
  if (options.caller == nullptr) return 0755;
  return runtime::FileMode::Exactly(0700 | (0777 & ~options.caller->umask));
}

}  // namespace trainer

#endif  // TRAINER_RUN_RUN_MODE_H_
