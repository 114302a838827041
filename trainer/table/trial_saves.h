#ifndef TRAINER_TABLE_TRIAL_SAVES_H_
#define TRAINER_TABLE_TRIAL_SAVES_H_

#include <cstdint>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "trainer/store/trial_record.h"
#include "trainer/store/trial_store.h"
#include "trainer/table/trial_table.h"
#include "trainer/trial/life.h"
#include "trainer/trial/trial.h"

namespace trainer {

// Stores the records of trials as they change. A record in memory equals the stored one, except for
// unsaved records after an error of the disk. Use it on the loop's thread, which it blocks for the
// disk.
class TrialSaves {
 public:
  struct Options {
    TrialStore* store = nullptr;  // Not owned, nor is the table; both outlive this.
    TrialTable* table = nullptr;
    std::function<void()> on_stored;  // A write needs a sync soon.
    std::function<void()> on_store_error;
    std::function<void()> retry_later;  // Retry() must be called after a while.
  };
  explicit TrialSaves(Options options) : options_(std::move(options)) {}

  // Stores `changed` and makes it the trial's record, unless it returns an error. Keep::kSomeTime
  // never returns an error. With Keep::kNow, `lines` are stored in the same transaction.
  absl::Status Save(Keep how, Trial& trial, TrialRecord changed,
                    const std::vector<AnsweredLine>& lines = {});
  // The record was changed in memory: the next Save() of another trial stores it too.
  void Mark(std::int64_t trial) { unsaved_.insert(trial); }
  void Retry();

  bool IsUnsaved(std::int64_t trial) const { return unsaved_.contains(trial); }
  bool empty() const { return unsaved_.empty(); }
  // Call it when the trial is forgotten.
  void Drop(std::int64_t trial) { unsaved_.erase(trial); }

 private:
  absl::Status SaveNow(Trial& trial, TrialRecord changed, const std::vector<AnsweredLine>& lines);
  absl::Status SaveOrder(Trial& trial, TrialRecord changed);
  void SaveUnsaved();

  const Options options_;
  std::set<std::int64_t> unsaved_;
};

}  // namespace trainer

#endif  // TRAINER_TABLE_TRIAL_SAVES_H_
