#ifndef TOOLS_YARD_JOB_JOB_FILE_H_
#define TOOLS_YARD_JOB_JOB_FILE_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/yard/job/job_draft.h"

namespace yard {

// Reads job files, whose keys docs/job_file_reference.md lists. Re-imagines the constructor of
// TensorFlow's multi-process runner and its cluster specs, with positions in all errors.

// Parses a job file's text, YAML or JSON. Relative paths are resolved from `directory`.
// InvalidArgument has one line for each error: "FILE:LINE:COLUMN: KEY: what".
absl::StatusOr<JobDraft> ParseJob(std::string_view text, const std::string& file,
                                  const std::string& directory);

// The same from a file, found from `working_directory`; its relative paths are resolved from its
// own directory, those in standard input ("-") and pipes from `working_directory`. Blocks. Errors
// such as NotFound name the path.
absl::StatusOr<JobDraft> ReadJob(const std::string& file, const std::string& working_directory);

// Sets one key of the job as a file would. Each value is text; for a key that takes a map it is
// NAME=VALUE, and there may be several. A value replaces that of the draft; names are added to its
// map. InvalidArgument messages begin with "--KEY: ".
absl::Status SetJobKey(const std::string& key, const std::vector<std::string>& values,
                       const std::string& directory, JobDraft* draft);
// The same for a key of every task type.
absl::Status SetTaskKey(const std::string& key, const std::vector<std::string>& values,
                        const std::string& directory, JobDraft* draft);

// Documentation of a key of a job file.
struct JobKey {
  bool of_task_type = false;  // A key under `tasks`; else of the job.
  std::string_view name, type, fallback, meaning;
};
// Returns all keys, those of the job first.
std::vector<JobKey> JobKeys();

}  // namespace yard

#endif  // TOOLS_YARD_JOB_JOB_FILE_H_
