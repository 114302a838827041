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

// The command line says this besides the file.
struct SweepFileOptions {
  std::vector<std::string> set = {};      // "KEY=VALUE", each over the file's.
  std::vector<std::string> command = {};  // Instead of the file's.
  bool needs_command = true;              // Without one there is nothing to run.
  std::string working_directory = {};     // The trials begin there.
  std::vector<std::string> environment = {};
};

// A sweep as its file and the command line have it.
struct SweepDraft {
  std::string name = {};  // Empty: none was given.
  tuning::Plan plan = {};
  std::vector<tuning::Config> enqueue = {};
  // Results that are known when it begins, and sweeps and a query of runs whose results are, too
  // (warm_start.h).
  std::vector<tuning::KnownResult> known = {};
  std::vector<std::string> warm_sweeps = {};
  std::string warm_runs = {};
  bool has_parallel = false;   // Else the yard's slots.
  std::string plan_json = {};  // The file as JSON without warm_start, for the trainer to read.
  std::string source = {};     // The file as it is written.
  std::vector<std::string> command = {};  // With the macros of the configuration.
  bool python_args = false;
  std::uint32_t max_restarts = 0;    // A trial has so many.
  std::uint64_t time_budget_ms = 0;  // 0: no limit.
  // Flags of `yard run` that each trial has, as TrialFlags::SetDefault() takes them.
  std::vector<std::pair<std::string, std::vector<std::string>>> trial_flags = {};
  // Things that the file says and that mean nothing here, or may not mean what is meant.
  std::vector<std::string> notices = {};
};

// Reads a sweep from a file's text, YAML or JSON: W&B's sweep files, and what they lack
// (docs/sweeps.md). InvalidArgument has a line for each thing that is wrong: "FILE:LINE:COLUMN:
// KEY: what". `directory`: the file's. Looks for programs on the disk.
absl::StatusOr<SweepDraft> ParseSweep(std::string_view text, const std::string& file,
                                      const std::string& directory,
                                      const SweepFileOptions& options);

// The same from a file, found from the working directory; "-" is standard input. Blocks. NotFound
// and the like name the path.
absl::StatusOr<SweepDraft> ReadSweep(const std::string& file, const SweepFileOptions& options);

}  // namespace yard

#endif  // TOOLS_YARD_SWEEP_SWEEP_FILE_H_
