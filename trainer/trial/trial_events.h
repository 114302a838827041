#ifndef TRAINER_TRIAL_TRIAL_EVENTS_H_
#define TRAINER_TRIAL_TRIAL_EVENTS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainer/store/trial_store.h"

namespace trainer {

// Events that a running program receives (TellTrial): each event is in the `events` of one ok
// answer, in order of arrival. Ray Tune has no equivalent.
//
// An event counts as delivered with the answer that contains it: both are stored in one
// transaction, so a line that is sent again gets the same events and no other line does, across
// restarts of the trainer and the shim. (An event sent to a program that died before it read the
// answer is not sent to the next attempt.) Waiting events are in the store, not in memory. Use it
// on the loop's thread; blocks for the disk.
class TrialEvents {
 public:
  static constexpr std::size_t kMaxEvent = 64 << 10;    // Bytes of one event.
  static constexpr std::int64_t kMaxWaiting = 1000;     // For each trial.
  static constexpr std::size_t kPerAnswer = 256 << 10;  // Bytes; further events wait.

  // `store` is not owned and outlives this.
  static absl::StatusOr<TrialEvents> Load(TrialStore* store, std::int64_t trial);

  // Stores an event and returns its number, from 1. A repeated request id returns the same event.
  // InvalidArgument if it is too long or not JSON (NaN and infinities are not); ResourceExhausted
  // if too many events wait.
  absl::StatusOr<std::int64_t> Tell(const std::string& event, const std::string& request_id);
  std::int64_t waiting() const { return told_ - delivered_; }

  // Returns the elements of the array for the answer to that line, such as "1,{\"lr\":0.1}", or an
  // empty string, and marks them as delivered in `batch`. If they cannot be read now, returns an
  // empty string and logs the error.
  std::string TakeFor(int attempt, std::int64_t line, StoreBatch& batch);
  // The batch was stored, or was not.
  void Committed() { delivered_ = draft_; }
  void Abandon() { draft_ = delivered_; }

 private:
  TrialEvents(TrialStore* store, std::int64_t trial, TrialStore::EventMarks marks)
      : store_(store),
        trial_(trial),
        told_(marks.last),
        delivered_(marks.last_delivered),
        draft_(marks.last_delivered) {}

  TrialStore* store_;
  std::int64_t trial_;
  std::int64_t told_;       // Number of the newest event.
  std::int64_t delivered_;  // All events up to this number were delivered.
  std::int64_t draft_;      // The same, including the batch in progress.
};

// Returns `event` as compact JSON; InvalidArgument as in Tell().
absl::StatusOr<std::string> CheckEvent(std::string_view event);

}  // namespace trainer

#endif  // TRAINER_TRIAL_TRIAL_EVENTS_H_
