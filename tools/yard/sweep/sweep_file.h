#ifndef TOOLS_YARD_SWEEP_SWEEP_FILE_H_
#define TOOLS_YARD_SWEEP_SWEEP_FILE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "tuning/engine/plan.h"
#include "tuning/engine/plan_reader.h"
#include "tuning/space/config.h"

namespace yard {

// Settings of the command line besides the file.
struct SweepFileOptions {
  std::vector<std::string> set = {};      // "KEY=VALUE"; each overrides the file.
  std::vector<std::string> command = {};  // Overrides the file's.
  bool needs_command = true;              // If false, a file without a command is valid.
  std::string working_directory = {};     // Directory in which the trials start.
  std::vector<std::string> environment = {};
};

// A sweep as defined by its file and the command line.
struct SweepDraft {
  std::string name = {};  // Empty if none was given.
  tuning::Plan plan = {};
  std::vector<tuning::Config> enqueue = {};
  // Results known in advance, and the sweeps and the query of runs from which further results come
  // (warm_start.h).
  std::vector<tuning::KnownResult> known = {};
  std::vector<std::string> warm_sweeps = {};
  std::string warm_runs = {};
  bool has_parallel = false;              // If false, the yard's slots limit the sweep.
  std::string plan_json = {};             // The file as JSON for the trainer, without warm_start.
  std::string source = {};                // Text of the file.
  std::vector<std::string> command = {};  // Macros about the configuration are not expanded.
  bool python_args = false;
  std::uint32_t max_restarts = 0;    // Limit of restarts of a trial.
  std::uint64_t time_budget_ms = 0;  // 0 for no limit.
  // Flags of `yard run` for each trial, as arguments of TrialFlags::SetDefault().
  std::vector<std::pair<std::string, std::vector<std::string>>> trial_flags = {};
  // Notices about parts of the file that have no effect here, or perhaps not the intended one.
  std::vector<std::string> notices = {};
};

// Parses a sweep file's text, YAML or JSON: W&B's format with extensions (docs/sweeps.md).
// InvalidArgument has one line for each error: "FILE:LINE:COLUMN: KEY: what". `directory` is the
// file's. Looks for programs on the disk.
absl::StatusOr<SweepDraft> ParseSweep(std::string_view text, const std::string& file,
                                      const std::string& directory,
                                      const SweepFileOptions& options);

// The same from a file, found from the working directory; "-" is standard input. Blocks. Errors
// such as NotFound name the path.
absl::StatusOr<SweepDraft> ReadSweep(const std::string& file, const SweepFileOptions& options);

}  // namespace yard

#endif  // TOOLS_YARD_SWEEP_SWEEP_FILE_H_
