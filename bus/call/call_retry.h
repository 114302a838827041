#ifndef BUS_CALL_CALL_RETRY_H_
#define BUS_CALL_CALL_RETRY_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace bus {

// Returns `first` after one failure and doubles it with each further consecutive failure, up to
// `longest`.
absl::Duration GrowingPause(int failures, absl::Duration first, absl::Duration longest);

// Decides whether and when to retry one call to the launcher after an error. One thread.
//
// A caller that depends on a job must give up only for an answer about that job: the launcher does
// not know the job, or will never start it as requested (NotFound, InvalidArgument,
// FailedPrecondition, ...). Every other error concerns the launcher or the connection to it, while
// the job may well exist, so the call is retried: Unavailable, DeadlineExceeded, Aborted;
// Cancelled, by a process that is exiting; ResourceExhausted, which passes with time; Internal,
// which a stopping service also returns for its unanswered calls. An Internal or Unknown that
// returns quickly again and again is a defect that no retry cures: after kMaxDefects in a row,
// which take more than a minute, it is the final answer.
class CallRetry {
 public:
  static constexpr absl::Duration kFirstPause = absl::Milliseconds(200);
  static constexpr absl::Duration kLongestPause = absl::Seconds(5);
  static constexpr int kMaxDefects = 20;

  // Returns the pause before the next attempt; null if `error` is the final answer. `took`: how
  // long the attempt waited for its answer; a long wait resets the failure count.
  std::optional<absl::Duration> After(const absl::Status& error, absl::Duration took);

  // True if an attempt ended without an answer: the launcher may have done what it asked.
  bool in_doubt() const { return in_doubt_; }
  // True if the last error is the first in a row, or its code differs from the previous error's.
  bool is_news() const { return is_news_; }

 private:
  int failures_ = 0;  // Consecutive, like defects_.
  int defects_ = 0;
  absl::StatusCode last_ = absl::StatusCode::kOk;
  bool in_doubt_ = false;
  bool is_news_ = false;
};

}  // namespace bus

#endif  // BUS_CALL_CALL_RETRY_H_
