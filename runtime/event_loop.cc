#include "runtime/event_loop.h"

#include <sys/stat.h>

#include <algorithm>
#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <atomic>
#include <map>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "glog/logging.h"
#include "runtime/mutex.h"

namespace runtime {
namespace {

// The kernel timer is set at most this far ahead, so that its arithmetic cannot overflow.
constexpr absl::Duration kLongestKernelTimer = absl::Hours(1);

// A caller's descriptor, registered with Asio once, however often it is watched. Asio believes that
// it owns the descriptor, so release() it before this object is destroyed.
struct Source {
  Source(asio::io_context& context, int given) : fd(given), descriptor(context) {
    struct stat about {};
    PCHECK(fstat(fd, &about) == 0) << "cannot watch descriptor " << fd;
    CHECK(!S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode))
        << "descriptor " << fd << " is a file, which is always ready and cannot be watched";
    asio::error_code error;
    descriptor.assign(fd, error);
    CHECK(!error) << "cannot watch descriptor " << fd << ": " << error.message();
  }

  const int fd;
  asio::posix::stream_descriptor descriptor;
  int watches = 0;
};

struct Watched {
  const std::shared_ptr<Source> source;
  const asio::posix::stream_descriptor::wait_type what;
  // Null once the watch has ended; a wait may still be pending.
  std::shared_ptr<const std::function<void()>> ready;
};

// Requests of other threads, including the stop, go through one queue in their order. This class
// keeps the timers of both kinds of clock; Asio has a single timer, set to the first of them.
class AsioEventLoop : public EventLoop {
 public:
  explicit AsioEventLoop(Clock* clock)
      : clock_(clock), keep_running_(context_.get_executor()), kernel_timer_(context_) {
    listener_ = clock_->AddListener([this] { PostDueTimers(); });
  }

  ~AsioEventLoop() override {
    clock_->RemoveListener(listener_);
    for (auto& [fd, source] : sources_) source->descriptor.release();
  }

  void Run() override {
    thread_ = std::this_thread::get_id();
    context_.run();
    thread_ = std::thread::id();
    std::vector<std::function<void()>> dropped;  // Destroyed after the lock is released.
    MutexLock lock(mutex_);
    closed_ = true;
    dropped.swap(posted_);
  }

  void Stop() override {
    Post([this] { context_.stop(); });
  }

  void Post(std::function<void()> function) override {
    {
      MutexLock lock(mutex_);
      if (closed_) return;
      posted_.push_back(std::move(function));
      if (std::exchange(turn_comes_, true)) return;
    }
    asio::post(context_, [this] { RunPosted(); });
  }

  TimerId RunAfter(absl::Duration delay, std::function<void()> function) override {
    const absl::Duration deadline = clock_->Monotonic() + delay;
    TimerId id = 0;
    bool first = false;
    {
      MutexLock lock(mutex_);
      id = ++last_timer_;
      const auto place = timers_.emplace(TimerKey(deadline, id), std::move(function)).first;
      deadlines_.emplace(id, deadline);
      first = place == timers_.begin();
    }
    if (first) PostDueTimers();
    return id;
  }

  void Cancel(TimerId timer) override {
    std::function<void()> dropped;  // Destroyed after the lock is released.
    MutexLock lock(mutex_);
    const auto found = deadlines_.find(timer);
    if (found == deadlines_.end()) return;
    const auto place = timers_.find(TimerKey(found->second, timer));
    dropped.swap(place->second);
    timers_.erase(place);
    deadlines_.erase(found);
  }

  WatchId Watch(int fd, Readiness readiness, std::function<void()> ready) override {
    DCHECK(MayTouchWatches());
    std::shared_ptr<Source>& source = sources_[fd];
    if (!source) source = std::make_shared<Source>(context_, fd);
    ++source->watches;
    auto watched = std::make_shared<Watched>(
        Watched{source,
                readiness == Readiness::kReadable ? asio::posix::stream_descriptor::wait_read
                                                  : asio::posix::stream_descriptor::wait_write,
                std::make_shared<const std::function<void()>>(std::move(ready))});
    watches_.emplace(++last_watch_, watched);
    Arm(std::move(watched));
    return last_watch_;
  }

  void Unwatch(WatchId watch) override {
    DCHECK(MayTouchWatches());
    const auto found = watches_.find(watch);
    if (found == watches_.end()) return;
    const std::shared_ptr<Watched> watched = std::move(found->second);
    watches_.erase(found);
    watched->ready = nullptr;
    Source& source = *watched->source;
    if (--source.watches > 0) return;
    source.descriptor.release();
    sources_.erase(source.fd);
  }

  bool InLoopThread() const override { return thread_ == std::this_thread::get_id(); }

 private:
  using TimerKey = std::pair<absl::Duration, TimerId>;

  bool MayTouchWatches() const { return InLoopThread() || thread_ == std::thread::id(); }

  // Starts another wait. epoll then checks the descriptor again, so that readiness that persists is
  // reported again.
  void Arm(std::shared_ptr<Watched> watched) {
    const auto what = watched->what;
    asio::posix::stream_descriptor& descriptor = watched->source->descriptor;
    descriptor.async_wait(what, [this, watched = std::move(watched)](asio::error_code error) {
      // A copy, because the callback may end its own watch.
      const auto ready = watched->ready;
      if (!ready) return;
      CHECK(!error) << "watching descriptor " << watched->source->fd << ": " << error.message();
      (*ready)();
      if (watched->ready) Arm(watched);
    });
  }

  void RunPosted() {
    std::vector<std::function<void()>> batch;
    {
      MutexLock lock(mutex_);
      batch.swap(posted_);
    }
    for (const auto& function : batch) {
      if (context_.stopped()) return;
      function();
    }
    // Functions that these have posted run after descriptors and timers have had their turn.
    MutexLock lock(mutex_);
    turn_comes_ = !posted_.empty();
    if (turn_comes_) asio::post(context_, [this] { RunPosted(); });
  }

  // Takes the first due timer that was set earlier than `before`.
  std::function<void()> TakeDueTimer(TimerId before) {
    const absl::Duration now = clock_->Monotonic();
    MutexLock lock(mutex_);
    for (auto place = timers_.begin(); place != timers_.end() && place->first.first <= now;
         ++place) {
      if (place->first.second >= before) continue;
      std::function<void()> function = std::move(place->second);
      deadlines_.erase(place->first.second);
      timers_.erase(place);
      return function;
    }
    return nullptr;
  }

  void PostDueTimers() {
    {
      MutexLock lock(mutex_);
      if (std::exchange(timers_turn_comes_, true)) return;
    }
    Post([this] { RunDueTimers(); });
  }

  void RunDueTimers() {
    TimerId before = 0;
    {
      MutexLock lock(mutex_);
      timers_turn_comes_ = false;
      before = last_timer_ + 1;
    }
    // Timers set by these callbacks wait for the next turn, even if they are due.
    while (!context_.stopped()) {
      std::function<void()> function = TakeDueTimer(before);
      if (!function) break;
      function();
    }
    SetKernelTimer();
  }

  void SetKernelTimer() {
    const absl::Duration now = clock_->Monotonic();
    absl::Duration left;
    {
      MutexLock lock(mutex_);
      if (timers_.empty()) return;
      left = timers_.begin()->first.first - now;
    }
    if (left <= absl::ZeroDuration()) return PostDueTimers();
    if (listener_ != 0) return;
    kernel_timer_.expires_after(absl::ToChronoNanoseconds(std::min(left, kLongestKernelTimer)) +
                                std::chrono::nanoseconds(1));
    kernel_timer_.async_wait([this](asio::error_code error) {
      if (!error) RunDueTimers();
    });
  }

  Clock* const clock_;
  Clock::ListenerId listener_ = 0;  // 0: the clock is the kernel's.
  std::atomic<std::thread::id> thread_;

  // Loop's thread only.
  asio::io_context context_;
  asio::executor_work_guard<asio::io_context::executor_type> keep_running_;
  asio::steady_timer kernel_timer_;
  WatchId last_watch_ = 0;
  std::unordered_map<WatchId, std::shared_ptr<Watched>> watches_;
  std::unordered_map<int, std::shared_ptr<Source>> sources_;  // By descriptor.

  Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::function<void()>> posted_ ABSL_GUARDED_BY(mutex_);
  bool turn_comes_ ABSL_GUARDED_BY(mutex_) = false;         // A RunPosted() is posted to Asio.
  bool timers_turn_comes_ ABSL_GUARDED_BY(mutex_) = false;  // A RunDueTimers() is posted to Asio.
  TimerId last_timer_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<TimerKey, std::function<void()>> timers_ ABSL_GUARDED_BY(mutex_);
  std::unordered_map<TimerId, absl::Duration> deadlines_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<EventLoop> EventLoop::Create(Clock* clock) {
  return std::make_unique<AsioEventLoop>(clock);
}

}  // namespace runtime
