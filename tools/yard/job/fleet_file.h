#ifndef TOOLS_YARD_JOB_FLEET_FILE_H_
#define TOOLS_YARD_JOB_FLEET_FILE_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/yard/job/job_draft.h"

namespace yard {

// Jobs that a file keeps: job files (job_file.h) one after the other, separated by lines `---`,
// each with a name.

struct FleetJob {
  std::string name;
  JobDraft draft;
  // The job as the file has it, as JSON: equal texts are equal jobs. It has nothing of the
  // caller's environment.
  std::string applied;
};

struct Fleet {
  std::string path;  // Absolute: the file is what a fleet is known by.
  // In the order in which they start: behind those of the file that they start after, else as in
  // the file.
  std::vector<FleetJob> jobs;
};

// Jobs of a fleet at most.
inline constexpr std::size_t kMaxFleet = 200;

// Reads a file's text. Relative paths in it begin in `directory`, where jobs without `cwd` run,
// too. InvalidArgument has a line for each thing that is wrong: "FILE:LINE:COLUMN: KEY: what".
absl::StatusOr<Fleet> ParseFleet(std::string_view text, const std::string& file,
                                 const std::string& directory);

// The same from a file, found from `working_directory`. Blocks. InvalidArgument for standard input;
// NotFound and the like name the path.
absl::StatusOr<Fleet> ReadFleet(const std::string& file, const std::string& working_directory);

}  // namespace yard

#endif  // TOOLS_YARD_JOB_FLEET_FILE_H_
