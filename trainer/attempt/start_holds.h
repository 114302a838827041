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

// Room that must be free on a disk before an attempt starts: the larger of the two limits.
struct MinFree {
  std::uint64_t bytes = 0;
  double percent = 0;  // Percentage of the file system's size.

  bool operator==(const MinFree&) const = default;
};
// Parses "5GiB", "2%", or "0", which needs no free room. Returns InvalidArgument for other text.
absl::StatusOr<MinFree> ParseMinFree(std::string_view text);

// Size of a file system and its free bytes for unprivileged users.
struct DiskRoom {
  std::uint64_t free = 0, total = 0;
};
// Measures the file system of the directory, or of its nearest existing parent. Blocks for the
// disk.
absl::StatusOr<DiskRoom> RoomOf(std::string directory);

// Holds back trials whose turn it is but that must not start yet: their start time has not come, or
// their disk has too little room. Use it on the loop's thread, which it may block for the disk.
class StartHolds {
 public:
  static constexpr absl::Duration kLookAgain = absl::Seconds(2);  // Interval of disk checks.
  // Longest sleep, so that a change of the clock is noticed after this time at the latest.
  static constexpr absl::Duration kLongestSleep = absl::Minutes(1);

  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned, nor is the clock; both outlive this.
    runtime::Clock* clock = runtime::Clock::Real();
    MinFree min_free = {};
    std::function<void()> again;  // Called when a held-back trial may be free to start.
    std::function<absl::StatusOr<DiskRoom>(const std::string& directory)> room = RoomOf;
  };
  explicit StartHolds(Options options) : options_(std::move(options)) {}
  StartHolds(const StartHolds&) = delete;
  StartHolds& operator=(const StartHolds&) = delete;

  // Returns why the trial is held back: "begins at 2026-11-27 22:00:00", "the disk of /runs has 3.1
  // GiB free, and 5 GiB have to stay free". Empty if nothing holds it back. A launch in progress is
  // never held back, because the launcher may have started its job already.
  std::string WhyHeld(const TrialRecord& trial) const;
  // Schedules one call of `again`, for when the answer of WhyHeld() may have changed.
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
  mutable std::map<std::string, Look> looks_;  // By the parent directory of a run.
};

}  // namespace trainer

#endif  // TRAINER_ATTEMPT_START_HOLDS_H_
