#ifndef TRAINER_RUN_TRASH_H_
#define TRAINER_RUN_TRASH_H_

#include <string>

#include "absl/status/status.h"

namespace trainer {

// Moves a run's directory to .trash/ID beside it, in one step. OK if it is gone already: the
// removal is done again after a crash. A name that is taken there gets a number. Blocks for the
// disk; an error names both paths.
absl::Status MoveToTrash(const std::string& run_directory, const std::string& id);

}  // namespace trainer

#endif  // TRAINER_RUN_TRASH_H_
