#ifndef TRAINER_RUN_RUN_MODE_H_
#define TRAINER_RUN_RUN_MODE_H_

#include "bus/schema/trainer_generated.h"
#include "runtime/file/file.h"

namespace trainer {

// For whom the directory of a run is made: for those whom the umask of its caller lets in. What is
// made in there later is for those for whom the directory is then.
inline runtime::FileMode RunDirectoryMode(const msg::TrialOptionsT& options) {
  if (options.caller == nullptr) return 0755;
  return runtime::FileMode::Exactly(0700 | (0777 & ~options.caller->umask));
}

}  // namespace trainer

#endif  // TRAINER_RUN_RUN_MODE_H_
