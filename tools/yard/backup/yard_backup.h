#ifndef TOOLS_YARD_BACKUP_YARD_BACKUP_H_
#define TOOLS_YARD_BACKUP_YARD_BACKUP_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "runtime/file/locations.h"

namespace yard {

// Back-ups of a yard: a directory (0700) with copies of the databases, jobs, settings and saved
// views of a state directory, perhaps of the runs, and backup.json, which says what it is. Blocks
// on the disk for as long as there is to copy.

struct CopiedFiles {
  std::uint64_t files = 0, bytes = 0;
};

struct BackUpOptions {
  std::string directory;  // Absolute. A back-up that is there is replaced, in one step.
  std::string logdir;     // Where the yard has its runs.
  bool with_runs = false;
  absl::Time now;
};
// Copies the state while its yard runs, or does not. Databases are copied first, each as of one
// moment, so that what they tell of is in the files that are copied later. FailedPrecondition:
// something else is at `directory`, it lies in the state or among the runs, or there is no state;
// AlreadyExists: another back-up of the yard is being made.
absl::StatusOr<CopiedFiles> BackUp(const runtime::Locations& locations,
                                   const BackUpOptions& options);

struct RestoreOptions {
  std::string directory;  // Absolute.
  std::string logdir;     // Where the runs are to be, or are; empty: where they were.
  bool replace = false;   // Moves a state that is there aside.
  absl::Time now;
};
struct Restored {
  CopiedFiles copied;
  std::string logdir;
  bool with_runs = false;
  std::string aside;  // Where the earlier state of the directory is now; empty: it had none.
};
// Puts a back-up into the state directory, and its runs, if it has some, into `logdir`. Services
// change paths in their databases when they open them next. FailedPrecondition: the yard runs, or a
// newer version made the back-up; NotFound: it is no back-up; AlreadyExists: the directory has a
// state, or `logdir` a run of that name.
absl::StatusOr<Restored> Restore(const runtime::Locations& locations,
                                 const RestoreOptions& options);

}  // namespace yard

#endif  // TOOLS_YARD_BACKUP_YARD_BACKUP_H_
