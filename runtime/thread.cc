#include "runtime/thread.h"

#include <pthread.h>

#include <thread>
#include <utility>

#include "runtime/clock.h"
#include "runtime/mutex.h"

namespace runtime {

struct Thread::State {
  std::string name;
  Mutex mutex;
  CondVar ended;
  bool alive ABSL_GUARDED_BY(mutex) = true;
  std::thread thread;  // Touched by the Thread object only.
};

Thread::Thread(std::string name, std::function<void()> body) : state_(std::make_shared<State>()) {
  state_->name = std::move(name);
  state_->thread = std::thread([state = state_, body = std::move(body)]() mutable {
    pthread_setname_np(pthread_self(), state->name.substr(0, 15).c_str());
    body();
    body = nullptr;
    MutexLock lock(state->mutex);
    state->alive = false;
    state->ended.SignalAll();
  });
}

Thread::~Thread() {
  if (!state_->thread.joinable()) return;
  if (alive()) {
    state_->thread.detach();
  } else {
    state_->thread.join();
  }
}

const std::string& Thread::name() const { return state_->name; }

bool Thread::alive() const {
  MutexLock lock(state_->mutex);
  return state_->alive;
}

bool Thread::Join(absl::Duration timeout) {
  const absl::Duration deadline = Clock::Real()->Monotonic() + timeout;
  MutexLock lock(state_->mutex);
  while (state_->alive) {
    const absl::Duration left = deadline - Clock::Real()->Monotonic();
    if (left <= absl::ZeroDuration()) return false;
    state_->ended.WaitWithTimeout(state_->mutex, left);
  }
  return true;
}

}  // namespace runtime
