#ifndef TRAINER_ATTEMPT_START_HOLDS_H_
#define TRAINER_ATTEMPT_START_HOLDS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "runtime/clock.h"
#include "runtime/event_loop.h"
#include "runtime/timer.h"
#include "trainer/store/trial_record.h"

namespace trainer {

// The part of a disk that has to be free before an attempt begins: the larger one of the two.
struct MinFree {
  std::uint64_t bytes = 0;
  double percent = 0;  // Part of the file system's size.

  bool operator==(const MinFree&) const = default;
};
// "5GiB", "2%", or "0": no matter what is free. InvalidArgument.
absl::StatusOr<MinFree> ParseMinFree(std::string_view text);

// A file system's bytes, the free ones for who has no privileges.
struct DiskRoom {
  std::uint64_t free = 0, total = 0;
};
// Asks about the directory, or the nearest one above it that exists. Blocks for the disk.
absl::StatusOr<DiskRoom> RoomOf(std::string directory);

// Holds back trials that have their turn but are not to begin yet: their time has not come, or
// their disk has less room than has to stay free. On the loop's thread, which it may block for the
// disk.
class StartHolds {
 public:
  static constexpr absl::Duration kLookAgain = absl::Seconds(2);  // How often it looks at a disk.
  // A clock that is set meanwhile is seen after so long at the latest.
  static constexpr absl::Duration kLongestSleep = absl::Minutes(1);

  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned, as the clock; both outlive it.
    runtime::Clock* clock = runtime::Clock::Real();
    MinFree min_free = {};
    std::function<void()> again;  // A trial that was held back may not be held back any more.
    std::function<absl::StatusOr<DiskRoom>(const std::string& directory)> room = RoomOf;
  };
  explicit StartHolds(Options options) : options_(std::move(options)) {}
  StartHolds(const StartHolds&) = delete;
  StartHolds& operator=(const StartHolds&) = delete;

  // Says what holds the trial back: "begins at 2026-11-27 22:00:00", "the disk of /runs has 3.1 GiB
  // free, and 5 GiB have to stay free". Empty: nothing does. A launch that is under way is held
  // back by nothing: the launcher may have started its job already.
  std::string WhyHeld(const TrialRecord& trial) const;
  // `again` is called once that may have changed.
  void Await(const TrialRecord& trial);

 private:
  struct Look {
    absl::Duration at = -absl::InfiniteDuration();
    std::string why;
  };
  std::string WhyNoRoom(const std::string& directory) const;

  const Options options_;
  runtime::Timer timer_;
  absl::Duration wakes_ = absl::InfiniteDuration();
  mutable std::map<std::string, Look> looks_;  // By the directory above a run's.
};

}  // namespace trainer

#endif  // TRAINER_ATTEMPT_START_HOLDS_H_
