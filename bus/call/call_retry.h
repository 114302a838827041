#ifndef BUS_CALL_CALL_RETRY_H_
#define BUS_CALL_CALL_RETRY_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace bus {

// `first` after one failure, doubling with each further one in a row up to `longest`.
absl::Duration GrowingPause(int failures, absl::Duration first, absl::Duration longest);

// Whether one call to the launcher is made again after an error, and when. One thread.
//
// A caller that depends on a job must give up only for an answer about that job: the launcher does
// not know the job, or will never start it as it was asked to (NotFound, InvalidArgument,
// FailedPrecondition, ...). Every other error says something of the launcher or of the way to it,
// while the job may well be there: Unavailable, DeadlineExceeded, Aborted; Cancelled, by an end
// that goes away; ResourceExhausted, for which only time is needed; Internal, which a service also
// answers for the calls that it had not answered when it was told to stop. Those are tried again.
// An Internal or Unknown that comes back quickly again and again is a defect that no waiting heals:
// after kMaxDefects in a row, more than a minute, it stands.
class CallRetry {
 public:
  static constexpr absl::Duration kFirstPause = absl::Milliseconds(200);
  static constexpr absl::Duration kLongestPause = absl::Seconds(5);
  static constexpr int kMaxDefects = 20;

  // The pause before the next try; nothing if the error is the answer. `took`: how long the try
  // waited for it. After a long one the count begins anew.
  std::optional<absl::Duration> After(const absl::Status& error, absl::Duration took);

  // A try ended without an answer: what it asked for may have been done.
  bool in_doubt() const { return in_doubt_; }
  // The last error was another than the one before it, or the first in a row.
  bool is_news() const { return is_news_; }

 private:
  int failures_ = 0;  // In a row, as defects_.
  int defects_ = 0;
  absl::StatusCode last_ = absl::StatusCode::kOk;
  bool in_doubt_ = false;
  bool is_news_ = false;
};

}  // namespace bus

#endif  // BUS_CALL_CALL_RETRY_H_
