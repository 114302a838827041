#include "datamanager/find/run_follower.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bus/json/annotations.h"
#include "bus/json/run_outcome.h"
#include "datamanager/find/file_kind.h"
#include "glog/logging.h"

// No change is lost between the two threads:
// - Changes in a directory before it was watched went unnoticed, so its runs are examined once more
//   after the watch was added.
// - Growth of a file whose run was not found yet is kept until the scan that finds it has ended.

namespace datamanager {
namespace {

using runtime::MutexLock;

// After a scan for changed directories, the pause is this many times as long as the scan, but no
// longer than kMaxScanPause.
constexpr int kScanPauses = 10;
constexpr absl::Duration kMaxScanPause = absl::Seconds(1);
// The inverse of half a percent.
constexpr int kLookPauses = 200;
constexpr absl::Duration kMinInterval = absl::Milliseconds(100);
// Limit of remembered names of files that have grown and belong to no run yet.
constexpr std::size_t kMaxUnclaimed = 10'000;

std::string ParentOf(const std::string& path) {
  const std::size_t slash = path.find_last_of('/', path.find_last_not_of('/'));
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

RunFollower::RunFollower(runtime::EventLoop* loop, Options options, Callbacks callbacks)
    : loop_(loop),
      options_(std::move(options)),
      callbacks_(std::move(callbacks)),
      tree_(TreeOptions()) {
  wanted_.whole = true;
}

RunFollower::~RunFollower() {
  *alive_ = false;
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    changed_.SignalAll();
  }
  if (thread_ != nullptr) thread_->Join();
}

void RunFollower::Start() {
  if (options_.reload_interval > absl::ZeroDuration()) {
    auto watcher = DirectoryWatcher::Create(
        loop_, [this](auto changes) { OnChanges(changes); }, [this] { OnOverflow(); },
        options_.inotify);
    if (watcher.ok()) {
      watcher_ = *std::move(watcher);
    } else {
      LOG(WARNING) << "Cannot follow " << options_.tree.root << " by inotify (" << watcher.status()
                   << "); looking every " << options_.reload_interval;
    }
  }
  watches_ = watcher_ != nullptr;
  thread_ = std::make_unique<runtime::Thread>("scan", [this] { Work(); });
}

bool RunFollower::Reload(std::function<void()> done) {
  MutexLock lock(mutex_);
  if (whole_under_way_) {
    done_of_this_.push_back(std::move(done));
    return true;
  }
  const bool joins = wanted_.whole;
  wanted_.whole = true;
  done_of_next_.push_back(std::move(done));
  changed_.SignalAll();
  return joins;
}

RunFollower::Stats RunFollower::GetStats() const {
  MutexLock lock(mutex_);
  Stats stats = stats_;
  stats.looked_into = *looked_into_;
  return stats;
}

RunTree::Options RunFollower::TreeOptions() {
  RunTree::Options options = options_.tree;
  options.clock = options_.clock;
  options.looked_into = looked_into_;
  return options;
}

// --- On the follower's thread ---

void RunFollower::Work() {
  for (;;) {
    Task task;
    {
      MutexLock lock(mutex_);
      while (!stopping_ && !Take(&task)) Wait();
      if (stopping_) return;
    }
    const absl::Duration begin = options_.clock->Monotonic();
    if (task.whole) {
      *looked_into_ = 0;
      if (callbacks_.scan_began) callbacks_.scan_began();
      Tell(Scope::kAll, tree_.Rescan(RunTree::Scope::kAll));
    }
    if (task.directories) Tell(Scope::kPartial, tree_.Rescan(RunTree::Scope::kChanged));
    if (!task.runs.empty()) Tell(Scope::kPartial, RescanRuns(task.runs));
    if (!task.told_runs.empty()) Tell(Scope::kListing, RescanRuns(task.told_runs));
    for (const auto& call : End(task, begin)) call();
  }
}

RunTree::Delta RunFollower::RescanRuns(const std::set<std::string>& runs) {
  return tree_.RescanRuns(std::vector<std::string>(runs.begin(), runs.end()));
}

void RunFollower::Wait() {
  absl::Duration next = next_period_;
  if (wanted_.directories) next = std::min(next, next_scan_);
  if (!wanted_.told_runs.empty()) next = std::min(next, next_listing_);
  if (next == absl::InfiniteDuration()) {
    changed_.Wait(mutex_);
  } else {
    options_.clock->WaitUntil(changed_, mutex_, next);
  }
}

bool RunFollower::Take(Task* task) {
  const absl::Duration now = options_.clock->Monotonic();
  if (now >= next_period_) SchedulePeriodic(now);
  if (wanted_.whole) {
    *task = std::exchange(wanted_, {});
    task->directories = false;  // A full scan covers them.
    task->runs.clear();
    task->told_runs.clear();
    whole_under_way_ = true;
    done_of_this_ = std::exchange(done_of_next_, {});
    return true;
  }
  task->periodic = std::exchange(wanted_.periodic, false);
  task->runs = std::exchange(wanted_.runs, {});
  if (now >= next_scan_ || task->periodic) {
    task->directories = std::exchange(wanted_.directories, false);
  }
  if (now >= next_listing_) task->told_runs = std::exchange(wanted_.told_runs, {});
  return task->directories || !task->runs.empty() || !task->told_runs.empty();
}

void RunFollower::SchedulePeriodic(absl::Duration now) {
  next_period_ = now + options_.reload_interval;
  ++periods_;
  if (!watches_ || periods_ % kWholeEvery == 0) {
    wanted_.whole = true;
  } else {
    const bool directories = !unwatched_.empty() || tree_.unreadable().count > 0;
    const std::span<const std::string> linked = tree_.linked_runs();
    if (!directories && linked.empty()) return;
    wanted_.runs.insert(linked.begin(), linked.end());
    wanted_.directories |= directories;
    for (const ListedRunPtr& run : tree_.runs()) {
      if (directories && unwatched_.contains(run->directory)) wanted_.runs.insert(run->name);
    }
  }
  wanted_.periodic = true;
}

void RunFollower::Tell(Scope scope, const RunTree::Delta& delta) {
  const bool changed = !delta.added.empty() || !delta.recreated.empty() || !delta.changed.empty() ||
                       !delta.removed.empty() || tree_.unreadable() != told_unreadable_;
  told_unreadable_ = tree_.unreadable();
  if (callbacks_.found && (changed || scope == Scope::kAll)) {
    callbacks_.found(scope, delta, tree_.runs(), tree_.unreadable());
  }
  if (!watches_ || scope == Scope::kListing) return;
  // Directories that could not be watched are retried after each full scan.
  std::vector<DirectoryWatcher::Directory> directories;
  const bool watch = delta.directories || scope == Scope::kAll;
  if (watch) directories = Watchable();
  loop_->Post([this, alive = alive_, delta, watch, directories = std::move(directories)] {
    if (!*alive) return;
    TakeRuns(delta);
    if (watch) WatchDirectories(directories);
    TellUnclaimed();
  });
}

// A root that does not exist yet will be created in its parent, so that is watched.
std::vector<DirectoryWatcher::Directory> RunFollower::Watchable() const {
  std::vector<DirectoryWatcher::Directory> directories;
  for (const RunTree::Directory& directory : tree_.directories()) {
    directories.push_back({directory.path, directory.identity});
  }
  if (directories.empty()) directories.push_back({ParentOf(options_.tree.root), {}});
  return directories;
}

RunFollower::Calls RunFollower::End(const Task& task, absl::Duration begin) {
  const absl::Duration now = options_.clock->Monotonic();
  const absl::Duration took = now - begin;
  MutexLock lock(mutex_);
  if (task.whole || task.directories) {
    ++stats_.scans;
    next_scan_ = now + std::min(took * kScanPauses, kMaxScanPause);
  }
  if (options_.reload_interval > absl::ZeroDuration() &&
      (task.periodic || next_period_ == absl::InfiniteDuration())) {
    next_period_ = now + PauseOfLooks(options_.reload_interval, took);
  }
  if (!task.whole) return {};
  stats_.last_scan = options_.clock->Now();
  stats_.last_scan_took = took;
  whole_under_way_ = false;
  return std::exchange(done_of_this_, {});
}

// --- On the loop's thread ---

void RunFollower::OnChanges(const std::vector<DirectoryWatcher::Change>& changes) {
  bool structure = false;
  std::map<std::string, std::vector<std::string>> grown;
  for (const DirectoryWatcher::Change& change : changes) {
    const bool file = ParseFileName(change.name).kind != FileKind::kNone;
    // Users also wait for changes of annotations and for the end of a trial.
    const bool seen =
        file || change.name == bus::Annotations::kFile || change.name == bus::RunOutcome::kFile;
    structure |= change.structure && (change.is_directory || seen || change.name.empty());
    if (!file || change.is_directory) continue;
    const auto run = run_of_directory_.find(change.directory);
    if (run != run_of_directory_.end()) {
      grown[run->second].push_back(change.name);
    } else {
      structure |= !AddUnclaimed(change.directory, change.name);
    }
  }
  TellGrown(grown);
  MutexLock lock(mutex_);
  wanted_.directories |= structure;
  if (!grown.empty() && wanted_.told_runs.empty()) {
    next_listing_ = options_.clock->Monotonic() + options_.listing_delay;
  }
  for (const auto& [run, files] : grown) wanted_.told_runs.insert(run);
  changed_.SignalAll();
}

void RunFollower::OnOverflow() {
  LOG_EVERY_N(INFO, 100) << "More has changed below " << options_.tree.root
                         << " than inotify could say; looking at everything";
  MutexLock lock(mutex_);
  wanted_.whole = true;
  changed_.SignalAll();
}

void RunFollower::TellGrown(const std::map<std::string, std::vector<std::string>>& grown) {
  if (!callbacks_.grown) return;
  for (const auto& [run, files] : grown) callbacks_.grown(run, files);
}

bool RunFollower::AddUnclaimed(const std::string& directory, const std::string& file) {
  if (unclaimed_.size() >= kMaxUnclaimed) {
    unclaimed_.clear();
    return false;
  }
  unclaimed_.insert({directory, file});
  return true;
}

void RunFollower::TakeRuns(const RunTree::Delta& delta) {
  for (const std::string& name : delta.removed) {
    const auto directory = directory_of_run_.find(name);
    if (directory == directory_of_run_.end()) continue;
    run_of_directory_.erase(directory->second);
    directory_of_run_.erase(directory);
  }
  for (const ListedRunPtr& run : delta.added) TakeRun(*run);
  for (const ListedRunPtr& run : delta.recreated) TakeRun(*run);
  for (const RunTree::Changed& changed : delta.changed) TakeRun(*changed.run);
}

void RunFollower::TakeRun(const ListedRun& run) {
  run_of_directory_[run.directory] = run.name;
  directory_of_run_[run.name] = run.directory;
}

// Reports the growth of files whose run is known now. Forgets files that already belonged to no
// run at the end of the previous scan.
void RunFollower::TellUnclaimed() {
  std::map<std::string, std::vector<std::string>> grown;
  for (auto* const unclaimed : {&unclaimed_before_, &unclaimed_}) {
    for (const auto& [directory, file] : *unclaimed) {
      const auto run = run_of_directory_.find(directory);
      if (run != run_of_directory_.end()) grown[run->second].push_back(file);
    }
  }
  unclaimed_before_ = std::exchange(unclaimed_, {});
  TellGrown(grown);
}

void RunFollower::WatchDirectories(const std::vector<DirectoryWatcher::Directory>& directories) {
  DirectoryWatcher::Outcome outcome = watcher_->SetDirectories(directories);
  if (!outcome.failed.empty()) {
    LOG_EVERY_N(WARNING, kWholeEvery)
        << "Cannot watch " << outcome.failed.size() << " of " << directories.size()
        << " directories, such as " << outcome.failed.front() << "; looking at them every "
        << options_.reload_interval;
  }
  MutexLock lock(mutex_);
  stats_.unwatched = outcome.failed.size();
  stats_.watched = directories.size() - outcome.failed.size();
  unwatched_ = std::set<std::string>(outcome.failed.begin(), outcome.failed.end());
  if (outcome.added.empty()) return;
  wanted_.directories = true;
  for (const std::string& directory : outcome.added) {
    const auto run = run_of_directory_.find(directory);
    if (run != run_of_directory_.end()) wanted_.runs.insert(run->second);
  }
  changed_.SignalAll();
}

absl::StatusOr<std::unique_ptr<RunFollower>> RunFollower::Create(runtime::EventLoop* loop,
                                                                 Options options,
                                                                 Callbacks callbacks) {
  const absl::Status interval = CheckReloadInterval(options.reload_interval);
  if (!interval.ok()) return interval;
  std::unique_ptr<RunFollower> follower(
      new RunFollower(loop, std::move(options), std::move(callbacks)));
  follower->Start();
  return follower;
}

absl::Duration PauseOfLooks(absl::Duration interval, absl::Duration took) {
  return std::clamp(took * kLookPauses, interval, interval * RunFollower::kWholeEvery);
}

absl::Status CheckReloadInterval(absl::Duration interval) {
  if (interval == absl::ZeroDuration() || interval >= kMinInterval) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "--reload_interval is ", absl::FormatDuration(interval), ": it must be 0, to look once, or ",
      absl::FormatDuration(kMinInterval), " at least"));
}

}  // namespace datamanager
