#include "trainer/attempt/room_waits.h"

#include <sys/statvfs.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "bus/call/call_retry.h"

namespace trainer {

std::string NoRoomWords(const std::string& directory) {
  std::string words = absl::StrCat("no room on the disk of ", directory);
  struct statvfs room {};
  if (statvfs(directory.c_str(), &room) != 0) return words;
  return absl::StrCat(words, ": ", std::uint64_t{room.f_bavail} * room.f_frsize, " bytes free");
}

RoomWaits::RoomWaits(runtime::EventLoop* loop,
                     std::function<void(const std::vector<AttemptKey>&)> again)
    : loop_(loop), again_(std::move(again)) {}

bool RoomWaits::Add(const AttemptKey& attempt, const std::string& why) {
  const auto [wait, is_new] = waits_.insert_or_assign(attempt.trial, Wait{attempt.attempt, why});
  static_cast<void>(wait);
  if (!timer_.is_set()) {
    const absl::Duration pause = bus::GrowingPause(++tries_, kFirstPause, kLongestPause);
    timer_.Start(loop_, pause, [this] { TryAgain(); });
  }
  return is_new;
}

bool RoomWaits::Remove(std::int64_t trial) {
  if (waits_.erase(trial) == 0) return false;
  if (waits_.empty()) {
    timer_.Cancel();
    tries_ = 0;
  }
  return true;
}

std::string RoomWaits::WhyOf(std::int64_t trial) const {
  const auto wait = waits_.find(trial);
  return wait == waits_.end() ? "" : wait->second.why;
}

void RoomWaits::TryAgain() {
  std::vector<AttemptKey> attempts;
  for (const auto& [trial, wait] : waits_) attempts.push_back({trial, wait.attempt});
  again_(attempts);
}

}  // namespace trainer
