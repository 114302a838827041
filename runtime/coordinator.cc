#include "runtime/coordinator.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "glog/logging.h"

namespace runtime {
namespace {

// How often a waiting Join() looks at its threads; a stop wakes it at once.
constexpr absl::Duration kLook = absl::Milliseconds(10);

}  // namespace

Coordinator::Coordinator() : Coordinator(Options()) {}
Coordinator::Coordinator(Options options) : options_(std::move(options)) {}

absl::Status Coordinator::RequestStop(absl::Status why) {
  const auto& clean = options_.clean_stop_codes;
  if (std::find(clean.begin(), clean.end(), why.code()) != clean.end()) why = absl::OkStatus();
  MutexLock lock(mutex_);
  if (joined_) return why;
  if (stop_requested_) {
    if (!why.ok()) LOG(INFO) << "An error after the stop was requested: " << why;
    return absl::OkStatus();
  }
  if (!why.ok()) LOG(INFO) << "Stopping because of an error: " << why;
  why_ = std::move(why);
  stop_requested_ = true;
  changed_.SignalAll();
  return absl::OkStatus();
}

bool Coordinator::ShouldStop() const {
  MutexLock lock(mutex_);
  return stop_requested_;
}

bool Coordinator::WaitForStop(absl::Duration timeout) {
  const absl::Duration deadline = options_.clock->Monotonic() + timeout;
  MutexLock lock(mutex_);
  while (!stop_requested_) {
    if (!options_.clock->WaitUntil(changed_, mutex_, deadline)) break;
  }
  return stop_requested_;
}

void Coordinator::ClearStop() {
  MutexLock lock(mutex_);
  stop_requested_ = joined_ = false;
  why_ = absl::OkStatus();
}

bool Coordinator::StopOnError(const std::function<absl::Status()>& body) {
  absl::Status status;
  try {
    status = body();
  } catch (const std::exception& error) {
    status = absl::InternalError(absl::StrCat("exception: ", error.what()));
  } catch (...) {
    status = absl::InternalError("exception of an unknown type");
  }
  if (status.ok()) return true;
  RequestStop(std::move(status)).IgnoreError();
  return false;
}

void Coordinator::RegisterThread(Thread* thread) {
  MutexLock lock(mutex_);
  registered_.insert(thread);
}

absl::Status Coordinator::Join(std::span<Thread* const> threads, absl::Duration grace,
                               bool ignore_live_threads) {
  std::set<Thread*> waiting(threads.begin(), threads.end());
  {
    MutexLock lock(mutex_);
    waiting.insert(registered_.begin(), registered_.end());
  }
  const auto drop_ended = [&waiting] {
    std::erase_if(waiting, [](Thread* thread) { return !thread->alive(); });
    return waiting.empty();
  };
  while (!drop_ended() && !ShouldStop()) (void)(*waiting.begin())->Join(kLook);
  const absl::Duration deadline = options_.clock->Monotonic() + grace;
  while (!drop_ended() && options_.clock->Monotonic() < deadline) {
    (void)(*waiting.begin())->Join(std::min(kLook, deadline - options_.clock->Monotonic()));
  }
  MutexLock lock(mutex_);
  joined_ = true;
  registered_.clear();
  if (!why_.ok() || waiting.empty()) return why_;
  std::vector<std::string> names;
  for (Thread* thread : waiting) names.push_back(thread->name());
  std::sort(names.begin(), names.end());
  const std::string what =
      absl::StrCat("stopped with threads still running: ", absl::StrJoin(names, ", "));
  if (!ignore_live_threads) return absl::DeadlineExceededError(what);
  LOG(INFO) << "Coordinator " << what;
  return absl::OkStatus();
}

bool Coordinator::joined() const {
  MutexLock lock(mutex_);
  return joined_;
}

absl::Status Coordinator::RaiseRequested() const {
  MutexLock lock(mutex_);
  return why_;
}

std::vector<std::string> Coordinator::LiveThreads() const {
  MutexLock lock(mutex_);
  std::vector<std::string> names;
  for (Thread* thread : registered_) {
    if (thread->alive()) names.push_back(thread->name());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace runtime
