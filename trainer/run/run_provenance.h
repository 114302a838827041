#ifndef TRAINER_RUN_RUN_PROVENANCE_H_
#define TRAINER_RUN_RUN_PROVENANCE_H_

#include <string>

#include "absl/status/status.h"
#include "bus/schema/trainer_generated.h"

namespace trainer {

// Where a run comes from: provenance.json and uncommitted.diff in the run's directory, beside
// params.json. Ray Tune keeps neither. On the loop's thread; blocks for the disk.

// InvalidArgument names the field: `provenance` is a JSON object of at most 512 KiB,
// whose git.diff_of, if it has one, is the name of a run, `provenance_diff` has at most 512 KiB,
// labels, note and display name are such as bus::CheckAnnotations() takes, and `group` has at most
// 200 bytes. A `fail_fast` needs a group.
absl::Status CheckLabelsAndProvenance(const msg::TrialOptionsT& options);

// Writes provenance.json: what the caller says (command, arguments, directory, host, git commit,
// versions), and in "trial", "labels" and, if it is in one, "group" what the run is here, so that
// readers of the run need not ask the trainer; these hide members of the caller's of that name. And
// uncommitted.diff, if there is one: that of the run beside it that git.diff_of names is shared
// with it, and stays when either of the two is removed.
absl::Status WriteProvenance(const std::string& run_directory, const std::string& trial,
                             const msg::TrialOptionsT& options);

// The text of uncommitted.diff, of the run or of the one beside it that its provenance names; empty
// without such a file.
std::string ReadUncommittedDiff(const std::string& run_directory);

}  // namespace trainer

#endif  // TRAINER_RUN_RUN_PROVENANCE_H_
