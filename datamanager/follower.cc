#include "datamanager/follower.h"

#include <utility>

#include "glog/logging.h"

namespace datamanager {

using runtime::MutexLock;

absl::StatusOr<std::unique_ptr<Follower>> Follower::Create(runtime::EventLoop* loop,
                                                           runtime::ThreadPool* pool,
                                                           RunCatalog* catalog, Options options) {
  std::unique_ptr<Follower> follower(new Follower(loop, pool, catalog, options));
  Follower* const self = follower.get();
  auto watcher = DirectoryWatcher::Create(
      loop, [self](auto changes) { self->OnChanges(std::move(changes)); },
      [self] { self->WantScan(); });
  if (watcher.ok()) {
    follower->watcher_ = std::move(*watcher);
  } else {
    LOG(WARNING) << "Cannot follow " << catalog->root() << " by inotify (" << watcher.status()
                 << "); looking every " << options.rescan_unwatched;
  }
  follower->WantScan();
  return follower;
}

Follower::Follower(runtime::EventLoop* loop, runtime::ThreadPool* pool, RunCatalog* catalog,
                   Options options)
    : loop_(loop), pool_(pool), catalog_(catalog), options_(options) {}

Follower::~Follower() {
  *alive_ = false;
  loop_->Cancel(rescan_timer_);
}

void Follower::OnChanges(std::vector<DirectoryWatcher::Change> changes) {
  bool scan = false;
  {
    MutexLock lock(mutex_);
    for (const auto& change : changes) {
      const bool event_file = IsEventFileName(change.name);
      if (change.structure && (change.is_directory || event_file)) scan = true;
      if (event_file) changed_.insert(change.directory);
    }
  }
  if (scan) return WantScan();
  Kick();
}

void Follower::WantScan() {
  {
    MutexLock lock(mutex_);
    scan_wanted_ = true;
  }
  Kick();
}

void Follower::Kick() {
  {
    MutexLock lock(mutex_);
    if (working_ || (!scan_wanted_ && changed_.empty())) return;
    working_ = true;
  }
  const absl::Status queued = pool_->Submit([this] {
    Work();
    return absl::OkStatus();
  });
  if (queued.ok()) return;
  // The pool is full or stops; the next rescan tries again.
  MutexLock lock(mutex_);
  working_ = false;
}

void Follower::Work() {
  for (;;) {
    bool scan = false;
    std::set<std::string> changed;
    {
      MutexLock lock(mutex_);
      scan = std::exchange(scan_wanted_, false);
      changed = std::exchange(changed_, {});
      if (!scan && changed.empty()) {
        working_ = false;
        return;
      }
    }
    if (!scan) {
      for (const std::string& directory : changed) catalog_->Refresh(directory);
      continue;
    }
    loop_->Post([this, alive = alive_, directories = catalog_->Scan()] {
      if (*alive) WatchDirectories(directories);
    });
  }
}

void Follower::WatchDirectories(const std::vector<std::string>& directories) {
  DirectoryWatcher::Outcome outcome{.added = 0, .failed = directories.size()};
  if (watcher_ != nullptr) outcome = watcher_->SetDirectories(directories);
  ScheduleRescan(outcome.failed > 0 ? options_.rescan_unwatched : options_.rescan);
  // What came into a new directory before it was watched was not seen by anybody.
  if (outcome.added > 0) WantScan();
}

void Follower::ScheduleRescan(absl::Duration delay) {
  loop_->Cancel(rescan_timer_);
  rescan_timer_ = loop_->RunAfter(delay, [this] {
    WantScan();
    ScheduleRescan(options_.rescan);
  });
}

}  // namespace datamanager
