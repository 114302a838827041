#include "runtime/event_loop.h"

#include <atomic>
#include <map>
#include <thread>
#include <utility>

#include "asio/io_context.hpp"
#include "asio/posix/stream_descriptor.hpp"
#include "asio/post.hpp"
#include "asio/steady_timer.hpp"
#include "runtime/mutex.h"

namespace runtime {
namespace {

class AsioLoop : public EventLoop {
 public:
  void Run() override {
    thread_ = std::this_thread::get_id();
    auto work = asio::make_work_guard(context_);
    context_.run();
    context_.restart();
    // What was posted before Stop() still runs.
    context_.poll();
    thread_ = std::thread::id();
  }
  void Stop() override { context_.stop(); }
  void Post(std::function<void()> function) override { asio::post(context_, std::move(function)); }

  TimerId RunAfter(absl::Duration delay, std::function<void()> function) override {
    const TimerId id = ++last_id_;
    auto timer = std::make_shared<asio::steady_timer>(context_);
    timer->expires_after(absl::ToChronoNanoseconds(std::min(delay, absl::Hours(24 * 365))));
    MutexLock lock(mutex_);
    timers_[id] = timer;
    timer->async_wait([this, id, timer, function = std::move(function)](const asio::error_code&) {
      {
        MutexLock guard(mutex_);
        if (timers_.erase(id) == 0) return;
      }
      function();
    });
    return id;
  }
  void Cancel(TimerId id) override {
    MutexLock lock(mutex_);
    const auto timer = timers_.find(id);
    if (timer == timers_.end()) return;
    auto dying = timer->second;
    timers_.erase(timer);
    asio::post(context_, [dying] { dying->cancel(); });
  }

  WatchId Watch(int fd, Readiness readiness, std::function<void()> ready) override {
    const WatchId id = ++last_id_;
    auto watch = std::make_shared<WatchState>(context_, fd, readiness, std::move(ready));
    watches_[id] = watch;
    Arm(watch);
    return id;
  }
  void Unwatch(WatchId id) override {
    const auto watch = watches_.find(id);
    if (watch == watches_.end()) return;
    watch->second->active = false;
    watch->second->descriptor.release();
    watches_.erase(watch);
  }
  bool InLoopThread() const override { return thread_ == std::this_thread::get_id(); }

 private:
  struct WatchState {
    WatchState(asio::io_context& context, int fd, Readiness readiness, std::function<void()> ready)
        : descriptor(context, fd), readiness(readiness), ready(std::move(ready)) {}
    ~WatchState() {
      if (descriptor.is_open()) descriptor.release();
    }
    asio::posix::stream_descriptor descriptor;
    const Readiness readiness;
    const std::function<void()> ready;
    bool active = true;
  };
  void Arm(const std::shared_ptr<WatchState>& watch) {
    watch->descriptor.async_wait(watch->readiness == Readiness::kReadable
                                     ? asio::posix::stream_descriptor::wait_read
                                     : asio::posix::stream_descriptor::wait_write,
                                 [this, watch](const asio::error_code&) {
                                   if (!watch->active) return;
                                   watch->ready();
                                   if (watch->active) Arm(watch);
                                 });
  }

  asio::io_context context_{1};
  std::atomic<std::thread::id> thread_;
  std::atomic<std::uint64_t> last_id_ = 0;
  std::map<WatchId, std::shared_ptr<WatchState>> watches_;
  Mutex mutex_;
  std::map<TimerId, std::shared_ptr<asio::steady_timer>> timers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<EventLoop> EventLoop::Create(Clock*) { return std::make_unique<AsioLoop>(); }

}  // namespace runtime
