#ifndef LAUNCHER_LOG_FOLLOW_PACE_H_
#define LAUNCHER_LOG_FOLLOW_PACE_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/time/time.h"
#include "runtime/event_loop.h"
#include "runtime/timer.h"

namespace launcher {

// Limits the rate at which all followers together read the output of running tasks. A task that
// writes as fast as it can thus keeps the CPUs to itself, and its followers catch up when it pauses
// or has ended. Use on the loop's thread; it must outlive all that wait for it.
class FollowPace {
 public:
  struct Options {
    absl::Duration turn = absl::Milliseconds(20);
    std::int64_t bytes_a_turn = std::int64_t{1} << 20;  // 50 MiB/s, 500,000 lines of 100 bytes.
  };
  // `loop` is not owned and outlives it.
  FollowPace(runtime::EventLoop* loop, Options options);
  explicit FollowPace(runtime::EventLoop* loop) : FollowPace(loop, Options()) {}
  FollowPace(const FollowPace&) = delete;
  FollowPace& operator=(const FollowPace&) = delete;

  // If false, wait for the next turn (WhenRoom()). Bytes spent beyond the budget of a turn are
  // taken from the next turns.
  bool has_room() const { return room_ > 0; }
  // Records that bytes were read.
  void Spend(std::int64_t bytes);
  // Calls `go_on` once there is room again, in the order of the calls; never before WhenRoom()
  // returns.
  void WhenRoom(std::function<void()> go_on);

 private:
  void BeginTurn();
  void Schedule();

  runtime::EventLoop* const loop_;
  const Options options_;
  std::int64_t room_;
  runtime::Timer timer_;
  std::vector<std::function<void()>> waiting_;
};

}  // namespace launcher

#endif  // LAUNCHER_LOG_FOLLOW_PACE_H_
