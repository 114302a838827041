#ifndef TRAINER_FUNCTION_TRAINING_PROGRESS_H_
#define TRAINER_FUNCTION_TRAINING_PROGRESS_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "trainer/checkpoint/checkpoint_directory.h"
#include "trainer/function/named_values.h"

namespace trainer {

// Source of a result; the same for all results of a trial until a restore.
struct ResultSource {
  std::string trial_id;
  std::string experiment_id;  // Kept by checkpoints: a trial resumed from one shares it.
  std::string hostname;
  pid_t pid = 0;
};

// The result of one step of a trainable.
struct Result {
  NamedValues reported;
  // True if the reporter said so, or if this is a duplicate.
  bool done = false;
  // Marks the end of a trainable that never reported `done`: the last result repeated, so that the
  // code that decides about trials sees it done. It changes no counter and is not logged again.
  bool duplicate = false;
  // True if there is a checkpoint that Save() has not returned yet.
  bool should_checkpoint = false;

  // The fields below are computed.
  std::int64_t training_iteration = 0;  // Value of the counter, regardless of the report.
  absl::Duration time_this_iter;
  absl::Duration time_total;
  std::optional<std::int64_t> timesteps_total;
  std::optional<std::int64_t> episodes_total;
  std::int64_t iterations_since_restore = 0;
  std::int64_t timesteps_since_restore = 0;
  absl::Duration time_since_restore;
  absl::Time time;
  std::shared_ptr<const ResultSource> source;

  // Returns the reported values and then, under Ray Tune's names, the computed fields that were not
  // reported (except node_ip, and config, which is in params.json).
  NamedValues All() const;
  // Returns the value of that name in All(); null if All() lacks it.
  Value Get(std::string_view name) const;
};

// Counts the results of a trainable, as Ray Tune's Trainable.train() does. Not thread-safe; reads
// no clock.
//
//   training_iteration    counts results; a reported value wins in All(), but does not change the
//                         counter
//   time_this_iter_s      as reported, else as measured; summed up in time_total_s
//   timesteps_this_iter,  summed up in timesteps_total and episodes_total, which are null until the
//   episodes_this_iter    first; a reported total wins in All()
//   neg_mean_loss         -mean_loss. (Ray leaves it out for a mean_loss of 0.)
//
// Ignores values here that are not numbers, times that are negative or over 10^9 s, and timesteps
// that are not whole. Sums saturate at the largest integer.
class TrainingProgress {
 public:
  explicit TrainingProgress(ResultSource source);

  // Returns the next result; `measured` is the time that it took.
  Result Count(NamedValues reported, absl::Duration measured, absl::Time now);
  // Returns the end after `last`. Without a result since the start or the last restore, it has only
  // the counters.
  Result Duplicate(const std::optional<Result>& last, absl::Time now) const;

  std::int64_t training_iteration() const { return iteration_; }
  // Returns the counters to store in a checkpoint.
  CheckpointMetadata Metadata() const;
  // Continues from a checkpoint; the counters since the restore start at 0.
  void Restore(const CheckpointMetadata& metadata);

 private:
  std::shared_ptr<const ResultSource> source_;
  std::int64_t iteration_ = 0;
  absl::Duration time_total_;
  std::optional<std::int64_t> timesteps_total_, episodes_total_;
  std::int64_t iterations_since_restore_ = 0;
  std::int64_t timesteps_since_restore_ = 0;
  absl::Duration time_since_restore_;
};

}  // namespace trainer

#endif  // TRAINER_FUNCTION_TRAINING_PROGRESS_H_
