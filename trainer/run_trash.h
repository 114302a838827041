#ifndef TRAINER_RUN_TRASH_H_
#define TRAINER_RUN_TRASH_H_

#include <string>

#include "absl/status/statusor.h"

namespace trainer {

// Moves a run's directory to .trash/ID beside it, in one step, and returns its place there. A name
// that is taken there gets a number. If it is gone already (the removal is done again after a
// crash) its place is that of PlaceInTrash(). Blocks for the disk; an error names both paths.
absl::StatusOr<std::string> MoveToTrash(const std::string& run_directory, const std::string& id);

// Where the run's directory is that was moved last as that id: .trash/ID, or the highest number of
// it. Empty if there is none.
std::string PlaceInTrash(const std::string& run_directory, const std::string& id);

}  // namespace trainer

#endif  // TRAINER_RUN_TRASH_H_
