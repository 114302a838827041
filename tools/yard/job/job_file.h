#ifndef TOOLS_YARD_JOB_JOB_FILE_H_
#define TOOLS_YARD_JOB_JOB_FILE_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/yard/job/job_draft.h"

namespace yard {

// The keys of a job file: docs/job_file_reference.md. Re-imagines the constructor of TensorFlow's
// multi-process runner and its cluster specs, with positions for all that is wrong.

// Reads a job from a file's text, YAML or JSON. Relative paths in it begin in `directory`.
// InvalidArgument has a line for each thing that is wrong: "FILE:LINE:COLUMN: KEY: what".
absl::StatusOr<JobDraft> ParseJob(std::string_view text, const std::string& file,
                                  const std::string& directory);

// The same from a file, found from `working_directory`; its relative paths begin where it is.
// Relative paths in standard input ("-") and in a pipe begin in `working_directory`. Blocks.
// NotFound and the like name the path.
absl::StatusOr<JobDraft> ReadJob(const std::string& file, const std::string& working_directory);

// Sets one key of the job, as a file would: `value` is a text, with `=` between name and value
// where the key takes a map, and more than one then. The value replaces the draft's; names of a map
// are added to it. InvalidArgument begins with "--KEY: ".
absl::Status SetJobKey(const std::string& key, const std::vector<std::string>& values,
                       const std::string& directory, JobDraft* draft);
// The same for a key of every task type.
absl::Status SetTaskKey(const std::string& key, const std::vector<std::string>& values,
                        const std::string& directory, JobDraft* draft);

// A key of a job file, described for its writer.
struct JobKey {
  bool of_task_type = false;  // Below `tasks`; else of the job.
  std::string_view name, type, fallback, meaning;
};
// All of them, those of the job first.
std::vector<JobKey> JobKeys();

}  // namespace yard

#endif  // TOOLS_YARD_JOB_JOB_FILE_H_
