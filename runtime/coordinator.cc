#include "runtime/coordinator.h"

#include <cxxabi.h>

#include <algorithm>
#include <exception>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "glog/logging.h"
#include "runtime/mutex.h"

namespace runtime {

using LifePtr = std::shared_ptr<Thread::Life>;

// Always true: `why` is OK unless stop_requested. With the mutex held, no callback and no Thread
// method is called except Life::name() and alive().
struct Coordinator::State {
  explicit State(Options given) : options(std::move(given)) {}

  const Options options;
  Mutex mutex;
  // Signalled when a stop was requested or cleared, or a thread has ended.
  CondVar changed;
  bool stop_requested ABSL_GUARDED_BY(mutex) = false;
  bool joined ABSL_GUARDED_BY(mutex) = false;
  absl::Status why ABSL_GUARDED_BY(mutex);
  std::set<LifePtr> registered ABSL_GUARDED_BY(mutex);
  StopCallbackId last_callback ABSL_GUARDED_BY(mutex) = 0;
  std::map<StopCallbackId, std::function<void()>> on_stop ABSL_GUARDED_BY(mutex);
};

namespace {

absl::Status RunCaught(const std::function<absl::Status()>& body) {
  try {
    return body();
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("uncaught exception: ", error.what()));
  } catch (const abi::__forced_unwind&) {
    throw;  // The thread was cancelled or has called pthread_exit().
  } catch (...) {
    return absl::InternalError("uncaught exception of an unknown type");
  }
}

// Returns the names of running threads, sorted and without duplicates.
std::vector<std::string> NamesOfLive(const std::set<LifePtr>& threads) {
  std::vector<std::string> names;
  for (const LifePtr& thread : threads) {
    if (thread->alive()) names.push_back(thread->name());
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool AnyAlive(const std::set<LifePtr>& threads) {
  return std::any_of(threads.begin(), threads.end(),
                     [](const LifePtr& thread) { return thread->alive(); });
}

}  // namespace

Coordinator::Coordinator() : Coordinator(Options{}) {}
Coordinator::Coordinator(Options options) : state_(std::make_shared<State>(std::move(options))) {}
Coordinator::Coordinator(std::shared_ptr<State> state) : state_(std::move(state)) {}

std::shared_ptr<Coordinator> Coordinator::Share() const {
  return std::shared_ptr<Coordinator>(new Coordinator(state_));
}

Clock* Coordinator::clock() const { return state_->options.clock; }

absl::Status Coordinator::RequestStop(absl::Status why) {
  const auto& clean = state_->options.clean_stop_codes;
  if (std::find(clean.begin(), clean.end(), why.code()) != clean.end()) {
    LOG(INFO) << "Stopping cleanly: " << why;
    why = absl::OkStatus();
  }
  std::map<StopCallbackId, std::function<void()>> callbacks;
  bool unreported = false;
  {
    State& state = *state_;
    MutexLock lock(state.mutex);
    unreported = state.joined;
    if (!state.stop_requested) {
      state.stop_requested = true;
      if (!unreported) state.why = why;
      if (!why.ok()) LOG(INFO) << "Stopping: " << why;
      state.changed.SignalAll();
      callbacks = state.on_stop;
    } else if (!why.ok() && !unreported) {
      LOG(WARNING) << "Error after a stop was requested: " << why;
    }
  }
  for (const auto& [id, stopped] : callbacks) stopped();
  return unreported ? why : absl::OkStatus();
}

bool Coordinator::ShouldStop() const {
  MutexLock lock(state_->mutex);
  return state_->stop_requested;
}

bool Coordinator::WaitForStop(absl::Duration timeout) {
  return WaitForStopUntil(clock()->Monotonic() + timeout);
}

bool Coordinator::WaitForStopUntil(absl::Duration deadline) {
  State& state = *state_;
  MutexLock lock(state.mutex);
  while (!state.stop_requested) {
    if (!clock()->WaitUntil(state.changed, state.mutex, deadline)) return state.stop_requested;
  }
  return true;
}

Coordinator::StopCallbackId Coordinator::OnStop(std::function<void()> stopped) {
  StopCallbackId id = 0;
  bool now = false;
  {
    MutexLock lock(state_->mutex);
    id = ++state_->last_callback;
    state_->on_stop.emplace(id, stopped);
    now = state_->stop_requested;
  }
  if (now) stopped();
  return id;
}

void Coordinator::RemoveOnStop(StopCallbackId callback) {
  std::function<void()> dropped;  // Destroyed after the lock is released.
  MutexLock lock(state_->mutex);
  const auto found = state_->on_stop.find(callback);
  if (found == state_->on_stop.end()) return;
  dropped.swap(found->second);
  state_->on_stop.erase(found);
}

void Coordinator::ClearStop() {
  MutexLock lock(state_->mutex);
  state_->stop_requested = false;
  state_->joined = false;
  state_->why = absl::OkStatus();
}

bool Coordinator::StopOnError(const std::function<absl::Status()>& body) {
  const absl::Status status = RunCaught(body);
  if (status.ok()) return true;
  const absl::Status unreported = RequestStop(status);
  if (!unreported.ok()) LOG(ERROR) << "Error after Join(): " << unreported;
  return false;
}

void Coordinator::RegisterThread(Thread* thread) {
  const LifePtr life = thread->life();
  {
    MutexLock lock(state_->mutex);
    state_->registered.insert(life);
  }
  life->OnEnd([state = state_, weak = std::weak_ptr(life)] {
    const LifePtr ended = weak.lock();
    MutexLock lock(state->mutex);
    state->registered.erase(ended);
    state->changed.SignalAll();
  });
}

absl::Status Coordinator::Join(std::span<Thread* const> threads, absl::Duration grace,
                               bool ignore_live_threads) {
  State& state = *state_;
  std::set<LifePtr> awaited;
  for (Thread* thread : threads) {
    awaited.insert(thread->life());
    thread->life()->OnEnd([state = state_] {
      MutexLock lock(state->mutex);
      state->changed.SignalAll();
    });
  }
  std::vector<std::string> stragglers;
  absl::Status why;
  {
    MutexLock lock(state.mutex);
    awaited.insert(state.registered.begin(), state.registered.end());
    while (!state.stop_requested && AnyAlive(awaited)) {
      clock()->WaitUntil(state.changed, state.mutex, absl::InfiniteDuration());
    }
    const absl::Duration deadline = clock()->Monotonic() + grace;
    while (AnyAlive(awaited)) {
      if (!clock()->WaitUntil(state.changed, state.mutex, deadline)) break;
    }
    stragglers = NamesOfLive(awaited);
    state.joined = true;
    state.registered.clear();
    why = state.why;
  }
  if (!why.ok() || stragglers.empty()) return why;
  const std::string message =
      absl::StrCat("stopped with threads still running: ", absl::StrJoin(stragglers, " "));
  if (!ignore_live_threads) return absl::DeadlineExceededError(message);
  LOG(WARNING) << message;
  return absl::OkStatus();
}

bool Coordinator::joined() const {
  MutexLock lock(state_->mutex);
  return state_->joined;
}

absl::Status Coordinator::RaiseRequested() const {
  MutexLock lock(state_->mutex);
  return state_->why;
}

std::vector<std::string> Coordinator::LiveThreads() const {
  MutexLock lock(state_->mutex);
  return NamesOfLive(state_->registered);
}

}  // namespace runtime
