#ifndef LAUNCHER_NODE_FILES_WAY_BACK_H_
#define LAUNCHER_NODE_FILES_WAY_BACK_H_

#include <functional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "runtime/event_loop.h"
#include "runtime/mutex.h"

namespace launcher {

// The way of a thread back to a loop, for as long as somebody there waits for it. Any thread.
class WayBack {
 public:
  // `loop` is not owned, and outlives the call of Close().
  explicit WayBack(runtime::EventLoop* loop) : loop_(loop) {}
  // False, and `function` is dropped: nobody waits any more.
  bool Post(std::function<void()> function) {
    runtime::MutexLock lock(mutex_);
    if (loop_ != nullptr) loop_->Post(std::move(function));
    return loop_ != nullptr;
  }
  void Close() {
    runtime::MutexLock lock(mutex_);
    loop_ = nullptr;
  }

 private:
  runtime::Mutex mutex_;
  runtime::EventLoop* loop_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace launcher

#endif  // LAUNCHER_NODE_FILES_WAY_BACK_H_
