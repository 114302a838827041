#include "runtime/thread_pool.h"

#include <deque>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/mutex.h"
#include "runtime/thread.h"

namespace runtime {
namespace {

class PoolImpl : public ThreadPool {
 public:
  PoolImpl(Coordinator* coordinator, Options options)
      : coordinator_(coordinator), options_(std::move(options)) {
    for (int i = 0; i < std::max(options_.threads, 1); ++i) {
      threads_.push_back(
          std::make_unique<Thread>(absl::StrCat(options_.name, "-", i), [this] { Work(); }));
      coordinator_->RegisterThread(threads_.back().get());
    }
  }
  ~PoolImpl() override {
    {
      MutexLock lock(mutex_);
      closed_ = true;
      changed_.SignalAll();
    }
    for (auto& thread : threads_) thread->Join();
  }

  absl::Status Submit(std::function<absl::Status()> task) override {
    MutexLock lock(mutex_);
    if (closed_ || coordinator_->ShouldStop())
      return Refuse(absl::CancelledError(Text("is stopping")));
    if (queue_.size() >= options_.queue_limit) {
      return Refuse(absl::ResourceExhaustedError(Text("is full")));
    }
    queue_.push_back(std::move(task));
    changed_.Signal();
    return absl::OkStatus();
  }

  Stats GetStats() const override {
    MutexLock lock(mutex_);
    return {.threads = static_cast<int>(threads_.size()),
            .busy = busy_,
            .queued = queue_.size(),
            .queue_limit = options_.queue_limit,
            .done = done_,
            .refused = refused_};
  }

 private:
  std::string Text(const char* what) const {
    return absl::StrCat("thread pool ", options_.name, " ", what);
  }
  absl::Status Refuse(absl::Status why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    ++refused_;
    return why;
  }
  void Work() {
    MutexLock lock(mutex_);
    for (;;) {
      const bool stopping = closed_ || coordinator_->ShouldStop();
      if (stopping && options_.on_stop == OnStop::kDrop) queue_.clear();
      if (queue_.empty()) {
        if (stopping) return;
        // A stop of the Coordinator does not signal us.
        changed_.WaitWithTimeout(mutex_, absl::Milliseconds(50));
        continue;
      }
      auto task = std::move(queue_.front());
      queue_.pop_front();
      ++busy_;
      mutex_.Unlock();
      coordinator_->StopOnError(task);
      task = nullptr;
      mutex_.Lock();
      --busy_;
      ++done_;
    }
  }

  Coordinator* const coordinator_;
  const Options options_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::deque<std::function<absl::Status()>> queue_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  int busy_ ABSL_GUARDED_BY(mutex_) = 0;
  std::uint64_t done_ ABSL_GUARDED_BY(mutex_) = 0;
  std::uint64_t refused_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::unique_ptr<Thread>> threads_;
};

}  // namespace

std::unique_ptr<ThreadPool> ThreadPool::Create(Coordinator* coordinator, Options options) {
  return std::make_unique<PoolImpl>(coordinator, std::move(options));
}

}  // namespace runtime
