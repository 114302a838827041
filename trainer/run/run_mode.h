#ifndef TRAINER_RUN_RUN_MODE_H_
#define TRAINER_RUN_RUN_MODE_H_

#include "bus/schema/trainer_generated.h"
#include "runtime/file/file.h"

namespace trainer {

// The mode of a run's directory: it lets in those whom the umask of its caller lets in. Files that
// are made in there later let in those whom the directory lets in at that time.
inline runtime::FileMode RunDirectoryMode(const msg::TrialOptionsT& options) {
  if (options.caller == nullptr) return 0755;
  return runtime::FileMode::Exactly(0700 | (0777 & ~options.caller->umask));
}

}  // namespace trainer

#endif  // TRAINER_RUN_RUN_MODE_H_
