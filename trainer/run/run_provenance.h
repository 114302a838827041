#ifndef TRAINER_RUN_RUN_PROVENANCE_H_
#define TRAINER_RUN_RUN_PROVENANCE_H_

#include <string>

#include "absl/status/status.h"
#include "bus/schema/trainer_generated.h"

namespace trainer {

// Provenance of a run: provenance.json and uncommitted.diff in the run's directory, beside
// params.json. Ray Tune has neither. Use it on the loop's thread; blocks for the disk.

// Checks these fields of a request. InvalidArgument names the field: `provenance` must be a JSON
// object of at most 512 KiB whose git.diff_of, if any, is the name of a run; `provenance_diff` has
// at most 512 KiB; labels, note and display name must pass bus::CheckAnnotations(); `group` has at
// most 200 bytes; and `fail_fast` requires a group.
absl::Status CheckLabelsAndProvenance(const msg::TrialOptionsT& options);

// Writes provenance.json: the caller's data (command, arguments, directory, host, git commit,
// versions), plus the members "trial", "labels" and, if it has one, "group", so that readers of the
// run need not ask the trainer; these replace the caller's members of the same names. Also writes
// uncommitted.diff, if there is one. If git.diff_of names a run in the same directory, its file is
// shared and survives when either run is removed.
absl::Status WriteProvenance(const std::string& run_directory, const std::string& trial,
                             const msg::TrialOptionsT& options);

// Returns the text of uncommitted.diff, of this run or of the one that its provenance names; empty
// if there is no such file.
std::string ReadUncommittedDiff(const std::string& run_directory);

}  // namespace trainer

#endif  // TRAINER_RUN_RUN_PROVENANCE_H_
