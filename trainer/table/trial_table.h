#ifndef TRAINER_TABLE_TRIAL_TABLE_H_
#define TRAINER_TABLE_TRIAL_TABLE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/schema/trainer_generated.h"
#include "trainer/store/trial_record.h"
#include "trainer/store/trial_store.h"
#include "trainer/table/ended_trials.h"
#include "trainer/trial/trial.h"
#include "trainer/trial/trial_reports.h"
#include "trainer/trial/trial_starts.h"

namespace trainer {

// All trials, and the keys by which each is found. Every trial is either at hand, whole, or, if it
// has ended, put aside (ended_trials.h); a caller that needs more of one than its message recalls
// it from the store. Changes nothing in the store. On the loop's thread, which it may block for the
// disk.
class TrialTable {
 public:
  struct Options {
    TrialStore* store = nullptr;  // Not owned; outlives it.
    // Makes what takes the reports of a trial that comes to hand.
    std::function<absl::StatusOr<std::unique_ptr<TrialReports>>(const TrialRecord&)> load_reports;
    // A trial that has ended is at hand again, and to be put aside some time.
    std::function<void()> on_recalled;
  };
  explicit TrialTable(Options options) : options_(std::move(options)) {}

  // Oldest first, by TrialRecord::number. Only the table adds and removes.
  std::map<std::int64_t, Trial>& at_hand() { return at_hand_; }
  const std::map<std::int64_t, Trial>& at_hand() const { return at_hand_; }
  const EndedTrials& ended() const { return ended_; }
  std::uint64_t count() const { return count_; }  // Trials of both kinds; any thread.

  // It is at hand.
  Trial& At(std::int64_t number) { return at_hand_.at(number); }
  // Null if the trial is not at hand. Valid until it is put aside or removed.
  Trial* AtHand(std::int64_t number);
  Trial* AtHand(std::string_view id);
  const Trial* AtHand(std::string_view id) const;
  const Trial* WithRequest(const std::string& request_id) const;

  // Recalls a trial that is put aside. NotFound: no trial has that key. Unavailable: it has ended,
  // and cannot be read now.
  absl::StatusOr<Trial*> ById(std::string_view id);
  absl::StatusOr<Trial*> ByNumber(std::int64_t number);
  // Wherever it is; NotFound.
  absl::StatusOr<std::int64_t> NumberOf(std::string_view id) const;
  // The id of the trial that a name means; as Trials::Find().
  absl::StatusOr<std::string> IdOf(std::string_view name) const;
  // As Trials::VisitNames().
  void VisitNames(const std::function<void(std::string_view id, std::string_view name,
                                           msg::TrialState state)>& visit) const;
  // The numbers of those that ended last, wherever they are; `count` zero: of all that have ended.
  std::set<std::int64_t> LastEnded(std::size_t count) const;
  // The trial to which a directory belongs. Unset: it belongs to no trial.
  struct Holder {
    std::string id;
    msg::TrialState state = msg::TrialState::Pending;
  };
  std::optional<Holder> HolderOf(std::string_view run_directory) const;
  std::string FreeId() const;
  // A trial that waits, or is paused, and needs that one (by its id), or what lies in that
  // directory, to start from. Null if no trial does.
  const Trial* StartingFrom(std::string_view id) const;
  const Trial* Restoring(const std::string& directory) const;

  // As in its message, also of a large one, which is not kept.
  absl::StatusOr<msg::TrialT> MessageOf(const EndedTrial& ended) const;

  // Adds a trial that is not here yet, at hand. An error: its reports cannot be read.
  absl::StatusOr<Trial*> Add(TrialRecord record);
  // Adds a trial that has ended, put aside.
  absl::Status AddEnded(const TrialRecord& record);
  // Puts an ended trial aside: only `message`, as which it is shown, stays.
  void PutAside(std::int64_t number, const msg::TrialT& message);
  // Wherever it is.
  void Remove(std::int64_t number);
  // The memory of a long queue lies in pieces between memory that stays in use: this gives it back
  // to the system a few times while the queue gets shorter.
  void ReturnMemory();

 private:
  absl::StatusOr<Trial*> Recall(const EndedTrial& ended);
  absl::StatusOr<msg::TrialT> StoredMessage(const TrialRecord& record) const;
  void RemoveAtHand(std::map<std::int64_t, Trial>::iterator place);
  void Count();
  const Trial* AtHandOrNull(std::optional<std::int64_t> number) const;

  const Options options_;
  std::map<std::int64_t, Trial> at_hand_;
  std::map<std::string, std::int64_t, std::less<>> ids_;  // Ids of the trials at hand.
  std::map<std::string, std::int64_t> requests_;          // Likewise.
  TrialStarts starts_;                                    // Likewise.
  EndedTrials ended_;
  std::size_t most_at_hand_ = 0;  // Since memory was given back.
  std::atomic<std::uint64_t> count_{0};
};

}  // namespace trainer

#endif  // TRAINER_TABLE_TRIAL_TABLE_H_
