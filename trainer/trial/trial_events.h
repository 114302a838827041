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

// The events that a program is told while it runs (TellTrial): each event goes into the `events` of
// one ok, in the order in which they were told. Ray Tune has nothing like it.
//
// An event counts as read with the answer that holds it: both are stored in one transaction, so a
// line that is sent again gets the same ones, and no other line does, over any restart of the
// trainer or the shim. (An event that was sent to a program which died before reading it is not
// sent to the next attempt.) Events that wait are in the store, not in memory. On the loop's
// thread; blocks for the disk.
class TrialEvents {
 public:
  static constexpr std::size_t kMaxEvent = 64 << 10;    // Bytes of one.
  static constexpr std::int64_t kMaxWaiting = 1000;     // For each trial.
  static constexpr std::size_t kPerAnswer = 256 << 10;  // Bytes; the rest waits for the next one.

  // `store` is not owned and outlives it.
  static absl::StatusOr<TrialEvents> Load(TrialStore* store, std::int64_t trial);

  // Stores an event; returns its number, from 1. The same request id again is the same event.
  // InvalidArgument: it is too long or no JSON (NaN and the infinities are none);
  // ResourceExhausted: too many wait.
  absl::StatusOr<std::int64_t> Tell(const std::string& event, const std::string& request_id);
  std::int64_t waiting() const { return told_ - delivered_; }

  // The elements of the array for the answer to that line: "1,{\"lr\":0.1}", or nothing. They are
  // in `batch` as delivered. Nothing, with a line in the log, if they cannot be read now.
  std::string TakeFor(int attempt, std::int64_t line, StoreBatch& batch);
  // The store has the batch, or does not.
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
  std::int64_t told_;       // Number of the newest one.
  std::int64_t delivered_;  // All up to this number have been.
  std::int64_t draft_;      // The same with what is being stored.
};

// `event` as compact JSON; InvalidArgument as in Tell().
absl::StatusOr<std::string> CheckEvent(std::string_view event);

}  // namespace trainer

#endif  // TRAINER_TRIAL_TRIAL_EVENTS_H_
