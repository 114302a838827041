#ifndef TRAINER_ATTEMPT_ROOM_WAITS_H_
#define TRAINER_ATTEMPT_ROOM_WAITS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "runtime/event_loop.h"
#include "runtime/timer.h"
#include "trainer/report/line_receiver.h"

namespace trainer {

// "no room on the disk of DIRECTORY: 12345 bytes free".
std::string NoRoomWords(const std::string& directory);

// Knows which trials wait for room on a disk, why, and when to try again: all at the same moment,
// after kFirstPause, doubling to kLongestPause while one of them waits. (Ray Tune lets a trial fail
// whose result cannot be written.) On the loop's thread.
class RoomWaits {
 public:
  static constexpr absl::Duration kFirstPause = absl::Milliseconds(50);
  static constexpr absl::Duration kLongestPause = absl::Seconds(1);

  // `loop` is not owned and outlives it. `again` is called with those that wait; each then either
  // waits again (Add) or does not (Remove).
  RoomWaits(runtime::EventLoop* loop, std::function<void(const std::vector<AttemptKey>&)> again);
  RoomWaits(const RoomWaits&) = delete;
  RoomWaits& operator=(const RoomWaits&) = delete;

  // True if the trial did not wait before.
  bool Add(const AttemptKey& attempt, const std::string& why);
  // True if the trial waited.
  bool Remove(std::int64_t trial);
  // Empty: it does not wait.
  std::string WhyOf(std::int64_t trial) const;

 private:
  struct Wait {
    int attempt = 0;
    std::string why;
  };
  void TryAgain();

  runtime::EventLoop* const loop_;
  const std::function<void(const std::vector<AttemptKey>&)> again_;
  std::map<std::int64_t, Wait> waits_;  // By trial.
  runtime::Timer timer_;
  int tries_ = 0;  // Since somebody waits.
};

}  // namespace trainer

#endif  // TRAINER_ATTEMPT_ROOM_WAITS_H_
