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

// The source of a result; the same for all results of a trial until it is restored.
struct ResultSource {
  std::string trial_id;
  std::string experiment_id;  // Kept by checkpoints: a trial that goes on from one has it too.
  std::string hostname;
  pid_t pid = 0;
};

// The result of one step of a trainable.
struct Result {
  NamedValues reported;
  // The reporter has said so, or this is a duplicate.
  bool done = false;
  // The end of a trainable that never said `done`: the last result again, so that the code that
  // decides about trials sees it done. It moves no counter and is not logged a second time.
  bool duplicate = false;
  // There is a checkpoint that Save() has not returned yet.
  bool should_checkpoint = false;

  // Filled in.
  std::int64_t training_iteration = 0;  // The counter's value, whatever was reported.
  absl::Duration time_this_iter;
  absl::Duration time_total;
  std::optional<std::int64_t> timesteps_total;
  std::optional<std::int64_t> episodes_total;
  std::int64_t iterations_since_restore = 0;
  std::int64_t timesteps_since_restore = 0;
  absl::Duration time_since_restore;
  absl::Time time;
  std::shared_ptr<const ResultSource> source;

  // The reported values, then the fields that are filled in under Ray Tune's names, unless reported
  // (not config, which is in params.json, and node_ip).
  NamedValues All() const;
  // The value of that name in All(); null if All() lacks it.
  Value Get(std::string_view name) const;
};

// Counts what a trainable has done, as Ray Tune's Trainable.train(). Not thread safe; knows no
// clock.
//
//   training_iteration    counts results; a reported one wins in All(), but does not move the
//   counter time_this_iter_s      as reported, else as measured; summed up in time_total_s
//   timesteps_this_iter,  summed up in timesteps_total, episodes_total, which are null until the
//   episodes_this_iter    first; a reported total wins in All()
//   neg_mean_loss         -mean_loss. (Ray leaves it out for a mean_loss of 0.)
//
// Values there that are no numbers, times that are negative or over 10^9 s, and timesteps that are
// not whole are not counted. Sums stop at the largest.
class TrainingProgress {
 public:
  explicit TrainingProgress(ResultSource source);

  // The next result; `measured` is the time that it took.
  Result Count(NamedValues reported, absl::Duration measured, absl::Time now);
  // The end, after `last`; without a result since the beginning, or since a restore, it has the
  // counters alone.
  Result Duplicate(const std::optional<Result>& last, absl::Time now) const;

  std::int64_t training_iteration() const { return iteration_; }
  // The counters as a checkpoint keeps them.
  CheckpointMetadata Metadata() const;
  // Goes on from a checkpoint; what counts since a restore begins at 0.
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
