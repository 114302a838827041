#include "bench/flow.h"

#include <utility>

#include "runtime/clock.h"

namespace bench {
namespace {

constexpr absl::Duration kSilence = absl::Seconds(20);

}  // namespace

bool Flow::HasRoom() {
  if (sent_ < room_) return true;
  runtime::MutexLock lock(mutex_);
  room_ = told_ + options_.window;
  return sent_ < room_;
}

bool Flow::MaySend() {
  if (++sent_ <= room_) return true;
  runtime::MutexLock lock(mutex_);
  // Waits until half of the window is free, so that it wakes up rarely.
  if (sent_ > told_ + options_.window) wanted_ = sent_ - options_.window / 2;
  while (!over_ && told_ < wanted_) room_made_.Wait(mutex_);
  room_ = told_ + options_.window;
  return !over_;
}

bool Flow::Received() {
  if (++received_ % kStep == 0) Tell(received_);
  return !over_here_;
}

void Flow::Tell(std::uint64_t received) {
  const absl::Duration now = runtime::Clock::Real()->Monotonic();
  runtime::MutexLock lock(mutex_);
  const bool enough = told_ < wanted_ && received >= wanted_;
  told_ = received;
  if (enough) room_made_.Signal();
  if (began_ == absl::InfiniteDuration() && received >= options_.warm_up) {
    began_ = now;
    first_ = received;
  } else if (now - began_ >= options_.time && !over_) {
    rate_ = static_cast<double>(received - first_) / absl::ToDoubleSeconds(now - began_);
    End();
  }
  over_here_ = over_;
}

void Flow::End() {
  over_ = true;
  room_made_.Signal();
  ended_.Signal();
}

void Flow::Fail(absl::Status why) {
  runtime::MutexLock lock(mutex_);
  if (over_) return;
  failed_ = std::move(why);
  End();
}

absl::StatusOr<double> Flow::Wait() {
  runtime::Clock* const clock = runtime::Clock::Real();
  runtime::MutexLock lock(mutex_);
  while (!over_) {
    const std::uint64_t before = told_;
    const absl::Duration deadline = clock->Monotonic() + kSilence;
    while (!over_ && clock->WaitUntil(ended_, mutex_, deadline)) {
    }
    if (over_ || told_ != before) continue;
    failed_ = absl::DeadlineExceededError("messages have stopped coming: some were lost");
    End();
  }
  if (!failed_.ok()) return failed_;
  return rate_;
}

}  // namespace bench
