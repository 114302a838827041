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

// The flags of `yard run` that say more of a trial than its program. The object outlives the
// OptionSet that parses into it.
class TrialFlags {
 public:
  // Help has a line for --grid, and names some of the others.
  void Declare(OptionSet& options);
  // Declares the flags that each trial of a sweep may have, without lines of help.
  void DeclareForSweep(OptionSet& options);
  // Sets a flag, named without its dashes, that the command line has not given; a switch is "true".
  // False: a sweep's trials have no such flag.
  bool SetDefault(const std::string& flag, const std::vector<std::string>& values);

  // The options of the request to the trainer, but for provenance, group and the files that come
  // along. Relative paths begin
  // in `working_directory`. InvalidArgument begins with the flag. (The trainer checks the meaning
  // of a criterion.)
  absl::StatusOr<msg::TrialOptionsT> Options(const std::string& working_directory) const;

  // For the trial to save and end when it is told to; 0: the trainer's.
  absl::StatusOr<std::uint32_t> GraceMs() const;

  // Function of the trainer, to run instead of a program; empty: none.
  const std::string& function() const { return function_; }
  const std::string& from() const { return from_; }
  const std::string& configs() const { return configs_; }
  const std::vector<std::string>& grid() const { return grid_; }
  const AlongFlags& along() const { return along_; }
  const EngineFlags& engine() const { return engine_; }
  // Pool that was named; empty: none.
  const std::string& pool() const { return pool_; }
  // The trial runs in a pool that no flag names.
  void RunInPool() { runs_in_pool_ = true; }
  bool fail_fast() const { return fail_fast_; }
  // A name that is taken gets a number.
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

// Takes from `other`, a trial of the same program, its pool, its tasks and the resources and limits
// of each of them, unless `options` say otherwise.
void TakeTasksFrom(msg::TrialOptionsT other, msg::TrialOptionsT* options);

}  // namespace yard

#endif  // TOOLS_YARD_TRIAL_TRIAL_FLAGS_H_
