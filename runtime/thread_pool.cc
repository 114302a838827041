#include "runtime/thread_pool.h"

#include <deque>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "glog/logging.h"
#include "runtime/mutex.h"
#include "runtime/thread.h"

namespace runtime {
namespace {

using Task = std::function<absl::Status()>;

// The queue of the threads; outlives the pool while one of them runs.
class TaskQueue {
 public:
  explicit TaskQueue(const ThreadPool::Options& options) : options_(options) {}

  absl::Status Add(Task task) {
    absl::Status pushed = Push(std::move(task));
    // Unlocked, so that the woken thread need not wait for the mutex.
    if (pushed.ok()) more_.Signal();
    return pushed;
  }

  void Close() {
    std::deque<Task> dropped;  // Destroyed after the lock is released.
    MutexLock lock(mutex_);
    closed_ = true;
    if (options_.on_stop == ThreadPool::OnStop::kDrop) dropped.swap(tasks_);
    more_.SignalAll();
  }

  // Body of each thread.
  void Work(Coordinator& coordinator) {
    while (Task task = Next()) {
      coordinator.StopOnError(task);
      task = nullptr;
      MutexLock lock(mutex_);
      --busy_;
      ++done_;
    }
  }

  ThreadPool::Stats GetStats() const {
    MutexLock lock(mutex_);
    return {.threads = options_.threads,
            .busy = busy_,
            .queued = tasks_.size(),
            .queue_limit = options_.queue_limit,
            .done = done_,
            .refused = refused_};
  }

 private:
  absl::Status Push(Task task) {
    MutexLock lock(mutex_);
    if (closed_) {
      ++refused_;
      return absl::CancelledError(absl::StrCat("pool ", options_.name, " has stopped"));
    }
    if (tasks_.size() >= options_.queue_limit) {
      ++refused_;
      return absl::ResourceExhaustedError(absl::StrCat(
          "queue of pool ", options_.name, " is full (", options_.queue_limit, " tasks)"));
    }
    tasks_.push_back(std::move(task));
    return absl::OkStatus();
  }

  // Waits for a task; returns null when the queue is closed and empty.
  Task Next() {
    MutexLock lock(mutex_);
    while (tasks_.empty() && !closed_) more_.Wait(mutex_);
    if (tasks_.empty()) return nullptr;
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    ++busy_;
    return task;
  }

  const ThreadPool::Options options_;
  mutable Mutex mutex_;
  CondVar more_;
  std::deque<Task> tasks_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  int busy_ ABSL_GUARDED_BY(mutex_) = 0;
  std::uint64_t done_ ABSL_GUARDED_BY(mutex_) = 0;
  std::uint64_t refused_ ABSL_GUARDED_BY(mutex_) = 0;
};

class QueuedThreadPool : public ThreadPool {
 public:
  QueuedThreadPool(Coordinator* coordinator, const Options& options)
      : coordinator_(coordinator->Share()), queue_(std::make_shared<TaskQueue>(options)) {
    on_stop_ = coordinator_->OnStop([queue = queue_] { queue->Close(); });
    for (int i = 0; i < options.threads; ++i) {
      threads_.push_back(std::make_unique<Thread>(
          absl::StrCat(options.name, "-", i),
          [queue = queue_, coordinator = coordinator_] { queue->Work(*coordinator); }));
      coordinator_->RegisterThread(threads_.back().get());
    }
  }

  ~QueuedThreadPool() override {
    coordinator_->RemoveOnStop(on_stop_);
    queue_->Close();
    // Skips the calling thread itself, which runs this if a task held the last reference to the
    // pool.
    for (const auto& thread : threads_) thread->Join();
  }

  absl::Status Submit(Task task) override { return queue_->Add(std::move(task)); }
  Stats GetStats() const override { return queue_->GetStats(); }

 private:
  const std::shared_ptr<Coordinator> coordinator_;
  const std::shared_ptr<TaskQueue> queue_;
  Coordinator::StopCallbackId on_stop_ = 0;
  std::vector<std::unique_ptr<Thread>> threads_;
};

}  // namespace

std::unique_ptr<ThreadPool> ThreadPool::Create(Coordinator* coordinator, Options options) {
  CHECK_GE(options.threads, 1) << "pool " << options.name;
  return std::make_unique<QueuedThreadPool>(coordinator, options);
}

}  // namespace runtime
