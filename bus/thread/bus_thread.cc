#include "bus/thread/bus_thread.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <zmq.hpp>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"

namespace bus {
namespace {

constexpr std::size_t kMaxTopics = 200'000;
thread_local const BusThread* current_thread = nullptr;

bool HasInput(void* socket) {
  int events = 0;
  std::size_t size = sizeof(events);
  return zmq_getsockopt(socket, ZMQ_EVENTS, &events, &size) == 0 && (events & ZMQ_POLLIN) != 0;
}

int DescriptorOf(void* socket) {
  int descriptor = -1;
  std::size_t size = sizeof(descriptor);
  zmq_getsockopt(socket, ZMQ_FD, &descriptor, &size);
  return descriptor;
}

}  // namespace

struct BusThread::PollSet {
  std::vector<pollfd> items;  // items[0] is the eventfd.
  std::vector<WatchId> ids;   // ids[i] belongs to items[i + 1]. The last item may be descriptors_.
};

absl::StatusOr<std::unique_ptr<BusThread>> BusThread::Create(runtime::Clock* clock) {
  auto context = SocketContext::Create();
  if (!context.ok()) return context.status();
  runtime::UniqueFd wake(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!wake.valid()) {
    return absl::UnavailableError(
        absl::StrCat("creating the bus thread's eventfd: ", std::strerror(errno)));
  }
  return std::unique_ptr<BusThread>(new BusThread(clock, std::move(*context), std::move(wake)));
}

BusThread::BusThread(runtime::Clock* clock, std::unique_ptr<SocketContext> context,
                     runtime::UniqueFd wake)
    : clock_(clock),
      context_(std::move(context)),
      wake_(std::move(wake)),
      poll_set_(std::make_unique<PollSet>()) {
  thread_ = std::make_unique<runtime::Thread>("bus", [this] { Loop(); });
}

BusThread::~BusThread() {
  stop_ = true;
  Wake();
  thread_->Join();
}

void BusThread::Wake() {
  const std::uint64_t one = 1;
  while (write(wake_.get(), &one, sizeof(one)) < 0 && errno == EINTR) {
  }
}

void BusThread::Post(std::function<void()> function) {
  bool wake = false;
  {
    runtime::MutexLock lock(mutex_);
    posted_.push_back(std::move(function));
    wake = !std::exchange(woken_, true);
  }
  if (wake) Wake();
}

void BusThread::Run(const std::function<void()>& function) {
  if (InThread()) return function();
  runtime::Mutex mutex;
  runtime::CondVar changed;
  bool done = false;
  Post([&] {
    function();
    runtime::MutexLock lock(mutex);
    done = true;
    changed.Signal();
  });
  runtime::MutexLock lock(mutex);
  while (!done) changed.Wait(mutex);
}

bool BusThread::InThread() const { return current_thread == this; }

void BusThread::Loop() {
  current_thread = this;
  while (!stop_) {
    Poll();
    RunPosted();
    RunTimers();
  }
  RunPosted();
}

void BusThread::RunPosted() {
  std::vector<std::function<void()>> functions;
  {
    runtime::MutexLock lock(mutex_);
    functions.swap(posted_);
    woken_ = false;
  }
  for (auto& function : functions) {
    function();
    function = nullptr;
  }
  if (!functions.empty()) LookAgain();
}

void BusThread::RunTimers() {
  const absl::Duration now = clock_->Monotonic();
  while (!timers_.empty() && timers_.begin()->first <= now) {
    const auto first = timers_.begin();
    const auto function = std::move(first->second.function);
    timer_index_.erase(first->second.id);
    timers_.erase(first);
    function();
    LookAgain();
  }
}

long BusThread::TimeUntilTimer() const {
  if (timers_.empty()) return -1;
  const absl::Duration left = timers_.begin()->first - clock_->Monotonic();
  if (left <= absl::ZeroDuration()) return 0;
  return static_cast<long>(std::min<std::int64_t>(
      absl::ToInt64Milliseconds(absl::Ceil(left, absl::Milliseconds(1))), 3'600'000));
}

void BusThread::Poll() {
  if (RunReadable()) return RunDescriptors();
  Wait();
  RunDescriptors();
  RunReadable();
}

bool BusThread::RunReadable() {
  std::vector<WatchId> ready;
  for (auto& [id, watched] : watches_) {
    if (std::exchange(watched.look, false) && HasInput(watched.socket)) ready.push_back(id);
  }
  for (const WatchId id : ready) {
    // An earlier callback may have removed this watch. A callback may also remove its own watch, so
    // a copy runs.
    const auto watch = watches_.find(id);
    if (watch == watches_.end()) continue;
    watch->second.look = true;
    LookAgain();
    const auto readable = watch->second.readable;
    readable();
  }
  return !ready.empty();
}

void BusThread::RunDescriptors() {
  if (descriptors_ == nullptr) return;
  descriptors_->RunReady();
  LookAgain();
}

absl::StatusOr<DescriptorWatches*> BusThread::Descriptors() {
  if (descriptors_ == nullptr) {
    auto created = DescriptorWatches::Create();
    if (!created.ok()) return created.status();
    descriptors_ = *std::move(created);
    watches_changed_ = true;
  }
  return descriptors_.get();
}

void BusThread::LookAgain() {
  for (auto& [id, watched] : watches_) {
    if (watched.used_by == UsedBy::kAnything) watched.look = true;
  }
}

void BusThread::Wait() {
  PollSet& set = *poll_set_;
  if (std::exchange(watches_changed_, false)) {
    set.items.assign(1, {wake_.get(), POLLIN, 0});
    set.ids.clear();
    for (const auto& [id, watched] : watches_) {
      set.items.push_back({DescriptorOf(watched.socket), POLLIN, 0});
      set.ids.push_back(id);
    }
    if (descriptors_ != nullptr) set.items.push_back({descriptors_->descriptor(), POLLIN, 0});
  }
  const int ready = poll(set.items.data(), set.items.size(), static_cast<int>(TimeUntilTimer()));
  if (ready < 0 && errno != EINTR) LOG(ERROR) << "waiting for sockets: " << std::strerror(errno);
  if (ready <= 0) return;
  if (set.items[0].revents != 0) {
    std::uint64_t count = 0;
    while (read(wake_.get(), &count, sizeof(count)) < 0 && errno == EINTR) {
    }
  }
  for (std::size_t i = 0; i < set.ids.size(); ++i) {
    if (set.items[i + 1].revents != 0) watches_.at(set.ids[i]).look = true;
  }
}

BusThread::TimerId BusThread::RunAfter(absl::Duration delay, std::function<void()> function) {
  const TimerId id = ++last_id_;
  timer_index_[id] = timers_.emplace(clock_->Monotonic() + delay, Timer{id, std::move(function)});
  return id;
}

void BusThread::Cancel(TimerId timer) {
  const auto found = timer_index_.find(timer);
  if (found == timer_index_.end()) return;
  timers_.erase(found->second);
  timer_index_.erase(found);
}

BusThread::WatchId BusThread::Watch(void* socket, std::function<void()> readable, UsedBy used_by) {
  const WatchId id = ++last_id_;
  watches_.emplace(id, Watched{socket, std::move(readable), used_by});
  watches_changed_ = true;
  return id;
}

void BusThread::Drained(WatchId watch) {
  if (const auto found = watches_.find(watch); found != watches_.end()) found->second.look = false;
}

void BusThread::Unwatch(WatchId watch) {
  if (watches_.erase(watch) != 0) watches_changed_ = true;
}

std::uint64_t BusThread::NextSequence(const std::string& topic) {
  if (sequences_.size() >= kMaxTopics && !sequences_.contains(topic)) {
    sequences_.clear();
    sequence_floor_ = sequence_max_;
  }
  const auto [entry, added] = sequences_.try_emplace(topic, sequence_floor_);
  sequence_max_ = std::max(sequence_max_, ++entry->second);
  return entry->second;
}

}  // namespace bus
