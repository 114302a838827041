#ifndef BENCH_FLOW_H_
#define BENCH_FLOW_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "runtime/mutex.h"

namespace bench {

// A stream of messages from one thread to another, with a bounded number in flight, so that no
// queue on the way ever fills. The rate of arrival is then the capacity of the way, and a lost
// message is detected, because its slot is never freed.
class Flow {
 public:
  struct Options {
    std::uint64_t window = 8'000;   // Messages in flight; fewer than every queue holds.
    std::uint64_t warm_up = 2'000;  // Messages that are not counted.
    absl::Duration time = absl::Milliseconds(500);
  };
  explicit Flow(const Options& options) : options_(options) {}

  // Sender: returns whether one more message can be sent without waiting.
  bool HasRoom();
  // Sender, before each message: waits for room. Returns false at the end.
  bool MaySend();
  // Receiver, after each message. Returns false at the end.
  bool Received();
  // Any thread: reports that the stream is broken.
  void Fail(absl::Status why);
  // Waits for the end and returns messages per second. DeadlineExceeded if no more arrive.
  absl::StatusOr<double> Wait();

 private:
  static constexpr std::uint64_t kStep = 64;  // The receiver acknowledges this many at once.
  void Tell(std::uint64_t received);
  void End() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Options options_;

  // Used by the sender only.
  std::uint64_t sent_ = 0;
  std::uint64_t room_ = 0;  // How many it may send, as far as it knows.

  // Used by the receiver only.
  std::uint64_t received_ = 0;
  bool over_here_ = false;

  runtime::Mutex mutex_;
  runtime::CondVar room_made_;
  runtime::CondVar ended_;
  std::uint64_t told_ ABSL_GUARDED_BY(mutex_) = 0;
  std::uint64_t wanted_ ABSL_GUARDED_BY(mutex_) = 0;  // The sender waits for this value of told_.
  bool over_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status failed_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t first_ ABSL_GUARDED_BY(mutex_) = 0;  // Received when timing began.
  absl::Duration began_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteDuration();
  double rate_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace bench

#endif  // BENCH_FLOW_H_
