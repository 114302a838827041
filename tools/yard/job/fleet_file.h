#ifndef TOOLS_YARD_JOB_FLEET_FILE_H_
#define TOOLS_YARD_JOB_FLEET_FILE_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/yard/job/job_draft.h"

namespace yard {

// A fleet: the jobs that one file defines, as job files (job_file.h) with names, separated by lines
// `---`.

struct FleetJob {
  std::string name;
  JobDraft draft;
  // Canonical JSON of the job in the file: equal texts mean equal jobs. Contains nothing of the
  // caller's environment.
  std::string applied;
};

struct Fleet {
  std::string path;  // Absolute path, which identifies the fleet.
  // In the order in which they start: a job follows those in the file that it starts after;
  // otherwise in the order of the file.
  std::vector<FleetJob> jobs;
};

// Limit of jobs in a fleet.
inline constexpr std::size_t kMaxFleet = 200;

// Parses a file's text. Relative paths are resolved from `directory`, which is also the working
// directory of jobs without `cwd`. InvalidArgument has one line for each error: "FILE:LINE:COLUMN:
// KEY: what".
absl::StatusOr<Fleet> ParseFleet(std::string_view text, const std::string& file,
                                 const std::string& directory);

// The same from a file, found from `working_directory`. Blocks. InvalidArgument for standard input;
// errors such as NotFound name the path.
absl::StatusOr<Fleet> ReadFleet(const std::string& file, const std::string& working_directory);

}  // namespace yard

#endif  // TOOLS_YARD_JOB_FLEET_FILE_H_
