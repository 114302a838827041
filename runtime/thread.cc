#include "runtime/thread.h"

#include <pthread.h>

#include <chrono>
#include <utility>

namespace runtime {
namespace {

constexpr std::size_t kKernelNameLimit = 15;

absl::Duration SteadyNow() {
  return absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
}

}  // namespace

bool Thread::Life::alive() const {
  MutexLock lock(mutex_);
  return !ended_;
}

bool Thread::Life::AwaitEnd(absl::Duration timeout) const {
  const absl::Duration deadline = SteadyNow() + timeout;
  MutexLock lock(mutex_);
  while (!ended_) {
    const absl::Duration left = deadline - SteadyNow();
    if (left <= absl::ZeroDuration()) return false;
    changed_.WaitWithTimeout(mutex_, left);
  }
  return true;
}

void Thread::Life::OnEnd(std::function<void()> ended) {
  {
    MutexLock lock(mutex_);
    if (!ended_) {
      on_end_.push_back(std::move(ended));
      return;
    }
  }
  ended();
}

void Thread::Life::End() {
  std::vector<std::function<void()>> on_end;
  {
    MutexLock lock(mutex_);
    ended_ = true;
    on_end.swap(on_end_);
    changed_.SignalAll();
  }
  for (const auto& ended : on_end) ended();
}

Thread::Thread(std::string name, std::function<void()> body)
    : life_(new Life(std::move(name))), thread_([life = life_, body = std::move(body)]() mutable {
        pthread_setname_np(pthread_self(), life->name().substr(0, kKernelNameLimit).c_str());
        // If the body calls pthread_exit(), only destructors still run.
        struct Ending {
          Life* life;
          std::function<void()>* body;
          ~Ending() {
            *body = nullptr;
            life->End();
          }
        } const ending{life.get(), &body};
        body();
      }) {}

Thread::~Thread() {
  MutexLock lock(mutex_);
  if (!thread_.joinable()) return;
  if (alive() || thread_.get_id() == std::this_thread::get_id()) {
    thread_.detach();
  } else {
    thread_.join();
  }
}

bool Thread::Join(absl::Duration timeout) {
  {
    MutexLock lock(mutex_);
    if (thread_.get_id() == std::this_thread::get_id()) return false;
  }
  if (!life_->AwaitEnd(timeout)) return false;
  MutexLock lock(mutex_);
  if (thread_.joinable()) thread_.join();
  return true;
}

}  // namespace runtime
