#include "bus/thread/descriptor_watches.h"

#include <sys/epoll.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"

namespace bus {
namespace {

constexpr int kAtOnce = 64;
constexpr std::uint32_t kBroken = EPOLLERR | EPOLLHUP;

}  // namespace

absl::StatusOr<std::unique_ptr<DescriptorWatches>> DescriptorWatches::Create() {
  runtime::UniqueFd poll(epoll_create1(EPOLL_CLOEXEC));
  if (!poll.valid()) {
    return absl::UnavailableError(
        absl::StrCat("cannot watch descriptors: epoll_create1: ", std::strerror(errno)));
  }
  return std::unique_ptr<DescriptorWatches>(new DescriptorWatches(std::move(poll)));
}

void DescriptorWatches::RunReady() {
  std::array<epoll_event, kAtOnce> events;
  const int count = epoll_wait(poll_.get(), events.data(), kAtOnce, 0);
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events.at(static_cast<std::size_t>(i));
    const Id id = event.data.u64;  // (A copy: a packed struct's member has no reference.)
    const auto found = watched_.find(id);
    // An earlier callback may have removed the watch or changed its interest.
    if (found == watched_.end()) continue;
    const std::uint32_t asked = found->second.interest;
    const std::uint32_t is = (event.events & kBroken) != 0 ? asked : event.events & asked;
    if (is == 0) continue;
    const std::shared_ptr<const OnReady> ready = found->second.ready;
    (*ready)((is & EPOLLIN) != 0, (is & EPOLLOUT) != 0);
  }
}

DescriptorWatches::Id DescriptorWatches::Watch(int fd, OnReady ready) {
  const Id id = ++last_;
  watched_[id] = {.fd = fd, .ready = std::make_shared<const OnReady>(std::move(ready))};
  return id;
}

void DescriptorWatches::SetInterest(Id watch, bool reading, bool writing) {
  const auto found = watched_.find(watch);
  if (found == watched_.end()) return;
  const std::uint32_t interest = (reading ? EPOLLIN : 0u) | (writing ? EPOLLOUT : 0u);
  const std::uint32_t before = std::exchange(found->second.interest, interest);
  if (interest == before) return;
  epoll_event event = {};
  event.events = interest;
  event.data.u64 = watch;
  const int change = interest == 0 ? EPOLL_CTL_DEL : before == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
  if (epoll_ctl(poll_.get(), change, found->second.fd, &event) != 0) {
    LOG(ERROR) << "cannot watch descriptor " << found->second.fd << ": " << std::strerror(errno);
  }
}

void DescriptorWatches::Unwatch(Id watch) {
  SetInterest(watch, false, false);
  watched_.erase(watch);
}

}  // namespace bus
