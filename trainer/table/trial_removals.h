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

// Removes ended trials. A trial that a user removes goes with its directory; the oldest trials
// beyond the limit are only forgotten. A trial that another one is still to start from is kept.
// Each removal is stored before it is executed. Use it on the loop's thread, which it may block for
// the disk.
class TrialRemovals {
 public:
  struct Options {
    TrialStore* store = nullptr;  // Not owned, nor are the two below; all outlive this.
    TrialTable* table = nullptr;
    const TrialView* view = nullptr;
    // The store no longer has the trial: drops it from memory, including the table.
    std::function<void(std::int64_t number)> drop;
    // Something was stored that needs a sync soon.
    std::function<void()> on_stored;
    std::function<void(std::string_view point)> fault = {};  // See Trials::Options.
    const runtime::Clock* clock = runtime::Clock::Real();    // Outlives it, too.
  };
  explicit TrialRemovals(Options options) : options_(std::move(options)) {}

  // See Trials::RemoveTrial().
  absl::StatusOr<msg::TrialT> Remove(std::string_view name, const std::string& request_id);
  // Finishes the removals that an earlier trainer has begun. Keeps a directory that now belongs to
  // another trial.
  absl::Status FinishEarlier();
  // Forgets, of the `count` oldest trials put aside, those that no other trial is still to start
  // from.
  absl::Status ForgetOldest(std::size_t count);

 private:
  // FailedPrecondition says what prevents the removal.
  absl::Status Check(const Trial& trial) const;
  // Moves the directory; returns its new path.
  absl::StatusOr<std::string> Finish(const Removal& removal);
  void Fault(std::string_view point);

  const Options options_;
};

}  // namespace trainer

#endif  // TRAINER_TABLE_TRIAL_REMOVALS_H_
