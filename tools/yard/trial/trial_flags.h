#ifndef TOOLS_YARD_TRIAL_TRIAL_FLAGS_H_
#define TOOLS_YARD_TRIAL_TRIAL_FLAGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bus/schema/trainer_generated.h"
#include "tools/yard/along/along_flags.h"
#include "tools/yard/cli/option_set.h"
#include "tools/yard/job/task_count_flags.h"
#include "tools/yard/job/task_resource_flags.h"
#include "tools/yard/slurm/engine_flags.h"

namespace yard {

// The flags of `yard run` about a trial, except its program. Must outlive the OptionSet that parses
// into it.
class TrialFlags {
 public:
  // Declares the flags. The help has a line for --grid, and names some of the others.
  void Declare(OptionSet& options);
  // Declares the flags that trials of a sweep may have, hidden from the help.
  void DeclareForSweep(OptionSet& options);
  // Sets a flag, named without dashes, unless it was given; the value of a switch is "true".
  // Returns false if trials of a sweep have no such flag.
  bool SetDefault(const std::string& flag, const std::vector<std::string>& values);

  // Returns the options for the trainer, without provenance, group and
  // accompanying files. Relative paths are resolved from `working_directory`.
  // InvalidArgument messages begin with the flag. (The trainer checks the meaning
  // of criteria.)
  absl::StatusOr<msg::TrialOptionsT> Options(const std::string& working_directory) const;

  // Time for the trial to save and exit after a stop, in milliseconds; 0 for the trainer's default.
  absl::StatusOr<std::uint32_t> GraceMs() const;

  // Function of the trainer to run in place of a program; empty if none.
  const std::string& function() const { return function_; }
  const std::string& from() const { return from_; }
  const std::string& configs() const { return configs_; }
  const std::vector<std::string>& grid() const { return grid_; }
  const AlongFlags& along() const { return along_; }
  const EngineFlags& engine() const { return engine_; }
  // The named pool; empty if none.
  const std::string& pool() const { return pool_; }
  // Call if the trial runs in a pool that no flag names.
  void RunInPool() { runs_in_pool_ = true; }
  bool fail_fast() const { return fail_fast_; }
  // If the name is taken, a number is appended.
  bool again() const { return again_; }

 private:
  std::string function_, output_, configs_, from_, restore_;
  std::vector<std::string> after_;
  std::string priority_, keep_checkpoints_, checkpoint_metric_, checkpoint_bytes_;
  std::string not_before_, plateau_, time_budget_, max_run_time_, heartbeat_, grace_;
  std::string stall_steps_, on_end_, pool_;
  std::vector<std::string> grid_, labels_, stop_, required_metrics_, alerts_;
  bool fail_fast_ = false, again_ = false;
  bool runs_in_pool_ = false;
  bool durable_ = false;
  bool share_gpu_ = false;
  TaskCountFlags tasks_;
  TaskResourceFlags resources_;
  AlongFlags along_;
  EngineFlags engine_;
};

// Copies from `other`, a trial of the same program, its pool, its tasks and their resources and
// limits, unless `options` set them.
void TakeTasksFrom(msg::TrialOptionsT other, msg::TrialOptionsT* options);

}  // namespace yard

#endif  // TOOLS_YARD_TRIAL_TRIAL_FLAGS_H_
