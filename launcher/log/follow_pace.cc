#include "launcher/log/follow_pace.h"

#include <algorithm>
#include <utility>

namespace launcher {

FollowPace::FollowPace(runtime::EventLoop* loop, Options options)
    : loop_(loop), options_(options), room_(options.bytes_a_turn) {}

void FollowPace::Spend(std::int64_t bytes) {
  room_ -= bytes;
  Schedule();
}

void FollowPace::WhenRoom(std::function<void()> go_on) {
  waiting_.push_back(std::move(go_on));
  Schedule();
}

void FollowPace::BeginTurn() {
  room_ = std::min(room_ + options_.bytes_a_turn, options_.bytes_a_turn);
  if (has_room()) {
    for (const auto& go_on : std::exchange(waiting_, {})) go_on();
  }
  if (room_ < options_.bytes_a_turn || !waiting_.empty()) Schedule();
}

void FollowPace::Schedule() {
  if (!timer_.is_set()) timer_.Start(loop_, options_.turn, [this] { BeginTurn(); });
}

}  // namespace launcher
