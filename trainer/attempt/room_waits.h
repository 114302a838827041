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

// Returns "no room on the disk of DIRECTORY: 12345 bytes free".
std::string NoRoomWords(const std::string& directory);

// Tracks the trials that wait for room on a disk, why, and when to try again. All are retried at
// the same time, after kFirstPause, doubling up to kLongestPause while any of them waits. (In Ray
// Tune a trial fails if its result cannot be written.) Use it on the loop's thread.
class RoomWaits {
 public:
  static constexpr absl::Duration kFirstPause = absl::Milliseconds(50);
  static constexpr absl::Duration kLongestPause = absl::Seconds(1);

  // `loop` is not owned and outlives this. `again` is called with the waiting attempts; for each
  // one it either calls Add() again or Remove().
  RoomWaits(runtime::EventLoop* loop, std::function<void(const std::vector<AttemptKey>&)> again);
  RoomWaits(const RoomWaits&) = delete;
  RoomWaits& operator=(const RoomWaits&) = delete;

  // Returns true if the trial was not waiting before.
  bool Add(const AttemptKey& attempt, const std::string& why);
  // Returns true if the trial was waiting.
  bool Remove(std::int64_t trial);
  // Returns why the trial waits; empty if it does not.
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
  int tries_ = 0;  // Retries since the first trial began to wait.
};

}  // namespace trainer

#endif  // TRAINER_ATTEMPT_ROOM_WAITS_H_
