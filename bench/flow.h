#ifndef BENCH_FLOW_H_
#define BENCH_FLOW_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "runtime/mutex.h"

namespace bench {

// One stream of messages from a sender's thread to a receiver's, with so many under way at most
// that nothing on the way is ever full: what arrives a second is then what the way can carry, and
// a message that is lost shows, because its room is never given back.
class Flow {
 public:
  struct Options {
    std::uint64_t window = 8'000;   // Messages under way; below every queue on the way.
    std::uint64_t warm_up = 2'000;  // Messages that are not counted.
    absl::Duration time = absl::Milliseconds(500);
  };
  explicit Flow(const Options& options) : options_(options) {}

  // The sender: is there room for one more without waiting?
  bool HasRoom();
  // The sender, before each message: waits for room. False: it is over.
  bool MaySend();
  // The receiver, after each message. False: it is over.
  bool Received();
  // Any thread: the stream has broken.
  void Fail(absl::Status why);
  // Waits for the end: messages a second. DeadlineExceeded if they stop coming.
  absl::StatusOr<double> Wait();

 private:
  static constexpr std::uint64_t kStep = 64;  // The receiver tells of so many at once.
  void Tell(std::uint64_t received);
  void End() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Options options_;

  // The sender's own.
  std::uint64_t sent_ = 0;
  std::uint64_t room_ = 0;  // As many as may have been sent, as far as it knows.

  // The receiver's own.
  std::uint64_t received_ = 0;
  bool over_here_ = false;

  runtime::Mutex mutex_;
  runtime::CondVar room_made_;
  runtime::CondVar ended_;
  std::uint64_t told_ ABSL_GUARDED_BY(mutex_) = 0;
  std::uint64_t wanted_ ABSL_GUARDED_BY(mutex_) = 0;  // The sender waits for this to be told.
  bool over_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status failed_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t first_ ABSL_GUARDED_BY(mutex_) = 0;  // Received when the time began.
  absl::Duration began_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteDuration();
  double rate_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace bench

#endif  // BENCH_FLOW_H_
