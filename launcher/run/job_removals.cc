#include "launcher/run/job_removals.h"

#include <filesystem>
#include <system_error>
#include <utility>

namespace launcher {
namespace {

// Removes as much of a folder as possible; the rest does no harm. Returns false if `gives_up` was
// set. Blocks.
bool RemoveFolder(const std::string& folder, const std::atomic<bool>& gives_up) {
  std::error_code ignored;
  std::filesystem::directory_iterator entry(folder, ignored), end;
  for (; entry != end; entry.increment(ignored)) {
    if (gives_up) return false;
    std::error_code left;
    std::filesystem::remove_all(entry->path(), left);
  }
  std::filesystem::remove_all(folder, ignored);
  return true;
}

}  // namespace

JobRemovals::~JobRemovals() {
  *alive_ = false;
  GiveUp();
}

void JobRemovals::Remove(const std::string& job, Done done) {
  auto& waiting = waiting_[job];
  waiting.push_back(std::move(done));
  if (waiting.size() > 1) return;
  queue_.push_back(job);
  if (queue_.size() == 1) RemoveNext();
}

void JobRemovals::RemoveNext() {
  if (queue_.empty()) return;
  Fault("before remove");
  const std::string job = queue_.front();
  const auto finish = [this, alive = alive_, loop = options_.loop, job](absl::Status removed) {
    loop->Post([this, alive, job, removed = std::move(removed)] {
      if (*alive) Finish(job, removed);
    });
  };
  const auto submitted =
      options_.pool->Submit([finish, folder = options_.folder_of(job), gives_up = gives_up_] {
        const bool removed = RemoveFolder(folder, *gives_up);
        finish(removed ? absl::OkStatus() : absl::CancelledError("the launcher ends"));
        return absl::OkStatus();
      });
  if (!submitted.ok()) finish(submitted);
}

void JobRemovals::Finish(const std::string& job, absl::Status removed) {
  Fault("folder removed");
  if (removed.ok()) removed = options_.forget(job);
  const auto waiting = waiting_.extract(job);
  for (const Done& done : waiting.mapped()) done(removed);
  queue_.pop_front();
  RemoveNext();
}

}  // namespace launcher
