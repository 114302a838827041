#ifndef TRAINER_TABLE_TRIAL_REMOVALS_H_
#define TRAINER_TABLE_TRIAL_REMOVALS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/schema/trainer_generated.h"
#include "runtime/clock.h"
#include "trainer/store/trial_store.h"
#include "trainer/table/trial_table.h"
#include "trainer/table/trial_view.h"
#include "trainer/trial/trial.h"

namespace trainer {

// Removes ended trials: a trial that somebody removes goes with its directory, and the oldest of
// too many are only forgotten. A trial from which another is still to start does not go. Each
// removal is stored before it is done. On the loop's thread, which it may block for the disk.
class TrialRemovals {
 public:
  struct Options {
    TrialStore* store = nullptr;  // Not owned, as the two below; all outlive it.
    TrialTable* table = nullptr;
    const TrialView* view = nullptr;
    // The store does not know the trial any more: nothing of it is to stay in memory, the table
    // included.
    std::function<void(std::int64_t number)> drop;
    // Something was stored, which is to survive a loss of power soon.
    std::function<void()> on_stored;
    std::function<void(std::string_view point)> fault = {};  // See Trials::Options.
    const runtime::Clock* clock = runtime::Clock::Real();    // Outlives it, too.
  };
  explicit TrialRemovals(Options options) : options_(std::move(options)) {}

  // As Trials::RemoveTrial().
  absl::StatusOr<msg::TrialT> Remove(std::string_view name, const std::string& request_id);
  // Finishes the removals that an earlier trainer has begun. A directory that is another trial's by
  // now stays.
  absl::Status FinishEarlier();
  // Forgets those of the `count` oldest trials put aside from which no other is still to start.
  absl::Status ForgetOldest(std::size_t count);

 private:
  // FailedPrecondition says what keeps it from being removed.
  absl::Status Check(const Trial& trial) const;
  // Where its directory is then.
  absl::StatusOr<std::string> Finish(const Removal& removal);
  void Fault(std::string_view point);

  const Options options_;
};

}  // namespace trainer

#endif  // TRAINER_TABLE_TRIAL_REMOVALS_H_
