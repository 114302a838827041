#ifndef TOOLS_YARD_BACKUP_YARD_BACKUP_H_
#define TOOLS_YARD_BACKUP_YARD_BACKUP_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "runtime/file/locations.h"

namespace yard {

// Backups of a yard: a directory (mode 0700) with copies of a state directory's databases, jobs,
// settings and saved views, optionally of the runs, and backup.json with a description. Functions
// block on the disk for as long as the copying takes.

struct CopiedFiles {
  std::uint64_t files = 0, bytes = 0;
};

struct BackUpOptions {
  std::string directory;  // Absolute path. An existing backup is replaced in one step.
  std::string logdir;     // Run directory of the yard.
  bool with_runs = false;
  absl::Time now;
};
// Backs up the state, whether or not its yard runs. Each database is copied as of one moment,
// before all other files, so that the files it refers to are in the copy. FailedPrecondition if
// `directory` holds something else, lies inside the state or the runs, or if there is no state;
// AlreadyExists if another backup of the yard is being made.
absl::StatusOr<CopiedFiles> BackUp(const runtime::Locations& locations,
                                   const BackUpOptions& options);

struct RestoreOptions {
  std::string directory;  // Absolute path.
  std::string logdir;     // Target directory of the runs; empty for the original one.
  bool replace = false;   // Moves existing state aside.
  absl::Time now;
};
struct Restored {
  CopiedFiles copied;
  std::string logdir;
  bool with_runs = false;
  std::string aside;  // New place of the directory's former state; empty if it had none.
};
// Restores a backup into the state directory, and its runs, if it has any, into `logdir`. Services
// adjust the paths in their databases at their next start. FailedPrecondition if the yard runs or a
// newer version made the backup; NotFound if the directory is no backup; AlreadyExists if state
// exists, or `logdir` has a run of the same name.
absl::StatusOr<Restored> Restore(const runtime::Locations& locations,
                                 const RestoreOptions& options);

}  // namespace yard

#endif  // TOOLS_YARD_BACKUP_YARD_BACKUP_H_
