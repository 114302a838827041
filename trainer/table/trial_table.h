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

// All trials, and the keys that find them. Each trial is either at hand, with all its parts, or, if
// it has ended, put aside (ended_trials.h); code that needs more than the message of a trial
// recalls it from the store. Changes nothing in the store. Use it on the loop's thread, which it
// may block for the disk.
class TrialTable {
 public:
  struct Options {
    TrialStore* store = nullptr;  // Not owned; outlives this.
    // Makes the object that takes the reports of a trial at hand.
    std::function<absl::StatusOr<std::unique_ptr<TrialReports>>(const TrialRecord&)> load_reports;
    // An ended trial is at hand again and should be put aside after a while.
    std::function<void()> on_recalled;
  };
  explicit TrialTable(Options options) : options_(std::move(options)) {}

  // The trials at hand by TrialRecord::number, oldest first. Only the table adds and removes them.
  std::map<std::int64_t, Trial>& at_hand() { return at_hand_; }
  const std::map<std::int64_t, Trial>& at_hand() const { return at_hand_; }
  const EndedTrials& ended() const { return ended_; }
  std::uint64_t count() const { return count_; }  // All trials; any thread.

  // Precondition: the trial is at hand.
  Trial& At(std::int64_t number) { return at_hand_.at(number); }
  // Return null if the trial is not at hand. The pointer is valid until it is put aside or removed.
  Trial* AtHand(std::int64_t number);
  Trial* AtHand(std::string_view id);
  const Trial* AtHand(std::string_view id) const;
  const Trial* WithRequest(const std::string& request_id) const;

  // Return the trial, recalled if it was put aside. NotFound if no trial has that key; Unavailable
  // if it was put aside and cannot be read now.
  absl::StatusOr<Trial*> ById(std::string_view id);
  absl::StatusOr<Trial*> ByNumber(std::int64_t number);
  // Returns the number of a trial, at hand or put aside; NotFound.
  absl::StatusOr<std::int64_t> NumberOf(std::string_view id) const;
  // Returns the id of the trial that `name` denotes; see Trials::Find().
  absl::StatusOr<std::string> IdOf(std::string_view name) const;
  // See Trials::VisitNames().
  void VisitNames(const std::function<void(std::string_view id, std::string_view name,
                                           msg::TrialState state)>& visit) const;
  // Returns the numbers of the `count` trials that ended last, at hand or put aside; 0 means all
  // ended trials.
  std::set<std::int64_t> LastEnded(std::size_t count) const;
  // The trial that a directory belongs to. HolderOf() returns nullopt if no trial has it.
  struct Holder {
    std::string id;
    msg::TrialState state = msg::TrialState::Pending;
  };
  std::optional<Holder> HolderOf(std::string_view run_directory) const;
  std::string FreeId() const;
  // Return a waiting or paused trial that still needs the trial `id`, or something in `directory`,
  // to start from. Null if no trial does.
  const Trial* StartingFrom(std::string_view id) const;
  const Trial* Restoring(const std::string& directory) const;

  // Returns the trial's message; reads a large one, which is not kept in memory, from the store.
  absl::StatusOr<msg::TrialT> MessageOf(const EndedTrial& ended) const;

  // Adds a new trial, at hand. Fails if its reports cannot be read.
  absl::StatusOr<Trial*> Add(TrialRecord record);
  // Adds an ended trial, put aside.
  absl::Status AddEnded(const TrialRecord& record);
  // Puts an ended trial aside: only its keys and `message` stay in memory.
  void PutAside(std::int64_t number, const msg::TrialT& message);
  // Removes a trial, at hand or put aside.
  void Remove(std::int64_t number);
  // The memory of a long queue is fragmented among memory that stays in use. Call this as the queue
  // shrinks: it returns memory to the system a few times.
  void ReturnMemory();

 private:
  absl::StatusOr<Trial*> Recall(const EndedTrial& ended);
  absl::StatusOr<msg::TrialT> StoredMessage(const TrialRecord& record) const;
  void RemoveAtHand(std::map<std::int64_t, Trial>::iterator place);
  void Count();
  const Trial* AtHandOrNull(std::optional<std::int64_t> number) const;

  const Options options_;
  std::map<std::int64_t, Trial> at_hand_;
  std::map<std::string, std::int64_t, std::less<>> ids_;  // Trials at hand, by id.
  std::map<std::string, std::int64_t> requests_;          // Likewise, by request id.
  TrialStarts starts_;                                    // Likewise, by what they start from.
  EndedTrials ended_;
  std::size_t most_at_hand_ = 0;  // Since ReturnMemory() last freed any.
  std::atomic<std::uint64_t> count_{0};
};

}  // namespace trainer

#endif  // TRAINER_TABLE_TRIAL_TABLE_H_
