#ifndef TRAINER_TESTING_LOOP_THREAD_H_
#define TRAINER_TESTING_LOOP_THREAD_H_

#include <functional>
#include <future>
#include <memory>
#include <utility>

#include "runtime/clock.h"
#include "runtime/event_loop.h"
#include "runtime/thread.h"

namespace trainer {

// An event loop on its own thread, for tests.
class LoopThread {
 public:
  explicit LoopThread(runtime::Clock* clock)
      : loop_(runtime::EventLoop::Create(clock)), thread_("loop", [this] { loop_->Run(); }) {}
  ~LoopThread() { Stop(); }

  runtime::EventLoop* loop() { return loop_.get(); }
  // Runs `body` on the loop's thread and waits for it.
  void Call(const std::function<void()>& body) {
    std::promise<void> done;
    loop_->Post([&] {
      body();
      done.set_value();
    });
    done.get_future().wait();
  }
  // Waits until functions that post further functions have run.
  void Settle() {
    for (int i = 0; i < 8; ++i) Call([] {});
  }
  void Stop() {
    loop_->Stop();
    thread_.Join();
  }

 private:
  const std::unique_ptr<runtime::EventLoop> loop_;
  runtime::Thread thread_;
};

}  // namespace trainer

#endif  // TRAINER_TESTING_LOOP_THREAD_H_
