#ifndef LAUNCHER_NODE_FILES_WAY_BACK_H_
#define LAUNCHER_NODE_FILES_WAY_BACK_H_

#include <functional>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "runtime/event_loop.h"
#include "runtime/mutex.h"

namespace launcher {

// Lets the threads of an object that lives on a loop post functions to the loop, and the object
// itself post to it. All share the WayBack. The object closes it in its destructor; no function
// runs after that.
class WayBack : public std::enable_shared_from_this<WayBack> {
 public:
  // `loop` is not owned and must live until Close().
  explicit WayBack(runtime::EventLoop* loop) : loop_(loop) {}
  // Posts `function` to the loop, where it runs unless Close() is called first. Returns false after
  // Close(). Thread-safe.
  bool Post(std::function<void()> function) {
    runtime::MutexLock lock(mutex_);
    if (loop_ == nullptr) return false;
    loop_->Post([way = shared_from_this(), function = std::move(function)] {
      if (way->is_open()) function();
    });
    return true;
  }
  // Drops all functions that have not run. Call it on the loop's thread, or while the loop does not
  // run.
  void Close() {
    runtime::MutexLock lock(mutex_);
    loop_ = nullptr;
  }

 private:
  bool is_open() {
    runtime::MutexLock lock(mutex_);
    return loop_ != nullptr;
  }

  runtime::Mutex mutex_;
  runtime::EventLoop* loop_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace launcher

#endif  // LAUNCHER_NODE_FILES_WAY_BACK_H_
