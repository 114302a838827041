#include "datamanager/catalog/run_catalog.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "datamanager/catalog/read_loaded.h"
#include "datamanager/read/run_data.h"

// Always true:
// - Lock order: listing_mutex_, then a run's lock, then those of the table, the loader and the
//   cache, and waiting_mutex_; no run is locked while one of these is held.
// - A removed run is first marked `gone` under its own lock, so that a step or a query that has a
//   pointer to it stops.
// - A query never reads files: it answers from memory, or returns Unavailable and schedules the
//   run.
// - Whatever changes the meaning of points' positions increases the run's generation, also across a
//   removal and a new run of the same name (RunTable::NextGeneration()).

namespace datamanager {
namespace {

using runtime::MutexLock;

// How long a failure is returned before a query causes a retry.
constexpr absl::Duration kFailureHolds = absl::Seconds(1);

absl::Status NoLongerThere(const std::string& run) {
  return absl::NotFoundError(absl::StrCat("run \"", run, "\" is not there any more"));
}

}  // namespace

// Lets one thread wait for a single notification.
struct RunCatalog::Latch {
  runtime::Mutex mutex;
  runtime::CondVar changed;
  bool open ABSL_GUARDED_BY(mutex) = false;

  void Open() {
    MutexLock lock(mutex);
    open = true;
    changed.SignalAll();
  }
  // Returns false if `deadline` of the clock passes first.
  bool Await(runtime::Clock* clock, absl::Duration deadline) {
    MutexLock lock(mutex);
    while (!open) {
      if (!clock->WaitUntil(changed, mutex, deadline)) return open;
    }
    return true;
  }
};

absl::StatusOr<std::unique_ptr<RunCatalog>> RunCatalog::Create(Options options) {
  std::unique_ptr<RunCatalog> catalog(new RunCatalog(std::move(options)));
  auto loader = RunLoader::Create(catalog->options_, &catalog->table_, &catalog->open_files_);
  if (!loader.ok()) return loader.status();
  catalog->loader_ = *std::move(loader);
  return catalog;
}

RunCatalog::RunCatalog(Options options)
    : options_(std::move(options)),
      open_files_(options_.open_files),
      brief_([](BriefItem&) { return absl::OkStatus(); }),
      table_(options_.root, options_.clock) {}

RunCatalog::~RunCatalog() = default;

void RunCatalog::ScanBegan() {
  whole_ = true;
  table_.OnEvent(ManagerEvent::kReloadBegan);
}

void RunCatalog::Found(const RunTree::Delta& delta, std::span<const ListedRunPtr> runs,
                       const RunTree::Unreadable& unreadable, bool only_listing) {
  const bool first = !scanned();
  TakeListing(delta, runs, only_listing);
  if (only_listing) return;
  brief_.UpdateAll([this] { return !table_.stopped(); });
  table_.SetScanned(unreadable);
  EndLingering();
  const bool whole = std::exchange(whole_, false);
  // Memory may have become free. (After the first scan all runs were just added.)
  if (!first && (whole || !delta.removed.empty())) loader_->LoadAllWithRoom(runs);
  if (whole && options_.indexes != nullptr && unreadable.count == 0) {
    std::set<std::string> directories;
    for (const ListedRunPtr& run : runs) directories.insert(run->directory);
    options_.indexes->KeepOnly(directories);
  }
  has_runs_ = !runs.empty();
  if (unreadable.root) {
    if (whole) table_.OnEvent(ManagerEvent::kReloadFailed);
    return;
  }
  if (runs.empty()) return table_.OnEvent(ManagerEvent::kNoRuns);
  if (!whole) {
    // A partial scan may find the first run.
    const ManagerState state = GetScanStatus().state;
    if (state != ManagerState::kInvalid && state != ManagerState::kInit) return;
    table_.OnEvent(ManagerEvent::kReloadBegan);
  }
  // The runs may have been removed by then.
  loader_->WhenAllLoaded(
      [this] { table_.OnEvent(has_runs_ ? ManagerEvent::kLoaded : ManagerEvent::kNoRuns); });
}

void RunCatalog::TakeListing(const RunTree::Delta& delta, std::span<const ListedRunPtr> runs,
                             bool only_listing) {
  const bool first = !scanned();
  MutexLock lock(listing_mutex_);
  if (!only_listing) brief_.Merge(runs);
  for (const std::string& name : delta.removed) Remove(name);
  for (const ListedRunPtr& listed : delta.recreated) {
    Remove(listed->name);
    Add(listed, false);
  }
  for (const ListedRunPtr& listed : delta.added) Add(listed, first);
  for (const RunTree::Changed& changed : delta.changed) Change(changed.run);
  if (only_listing) return;
  // Lists all runs, whichever part of the tree reported them first.
  for (const ListedRunPtr& listed : runs) {
    if (table_.Find(listed->name) == nullptr) Add(listed, false);
  }
}

void RunCatalog::Change(const ListedRunPtr& listed) {
  const CatalogRunPtr run = table_.Find(listed->name);
  if (run == nullptr) return;
  loader_->SetListed(*run, listed);
  if (const auto item = Brief(run->name); item.ok()) (*item)->SetRun(listed);
}

void RunCatalog::Add(const ListedRunPtr& listed, bool history) {
  const CatalogRunPtr run = loader_->NewRun(listed, table_.NextGeneration(listed->name), history);
  table_.Insert(run);
  loader_->Begin(*run, listed->update_us);
}

void RunCatalog::Remove(const std::string& name) {
  const CatalogRunPtr run = table_.Find(name);
  if (run == nullptr) return;
  std::vector<std::function<void()>> waiters;
  const std::uint64_t generation = run->With([&](CatalogRun::State& state) {
    state.gone = true;
    waiters = std::move(state.when_counted);
    return state.reader.data().generation();
  });
  table_.Erase(run, generation);
  loader_->Forget(*run);
  for (const auto& ready : waiters) ready();
}

void RunCatalog::Grown(const std::string& name, std::span<const std::string> files) {
  const CatalogRunPtr run = table_.Find(name);
  if (run == nullptr) return;
  run->AddGrown(files);
  loader_->ReadChanged(name);
}

absl::Status RunCatalog::Recheck(const std::string& name) {
  const CatalogRunPtr run = table_.Find(name);
  if (run == nullptr) return NoLongerThere(name);
  run->With([](CatalogRun::State& state) { state.reader.RecheckAll(); });
  loader_->ReadChanged(name);
  return absl::OkStatus();
}

void RunCatalog::Stop() {
  table_.Stop();
  std::set<std::shared_ptr<Latch>> waiting;
  {
    MutexLock lock(waiting_mutex_);
    waiting.swap(waiting_);
  }
  for (const std::shared_ptr<Latch>& latch : waiting) latch->Open();
}

bool RunCatalog::AwaitLoaded(absl::Duration timeout) {
  const auto latch = std::make_shared<Latch>();
  const absl::Duration deadline = options_.clock->Monotonic() + timeout;
  WhenLoaded([latch] { latch->Open(); });
  return latch->Await(options_.clock, deadline);
}

RunCatalog::RunInfo RunCatalog::DescribeRun(CatalogRun& run) const {
  const PointsCache::Status cached = loader_->CacheStatusOf(run.name);
  RunInfo info;
  info.state = cached.state;
  info.why = cached.why;
  info.access_us = cached.access_us;
  run.With([&](CatalogRun::State& state) {
    const RunData& data = state.reader.data();
    info.listed = state.reader.run();
    info.cached_bytes = data.cached_bytes();
    info.update_us = std::max(info.listed->update_us, state.grown_us);
    info.bytes = std::max(info.listed->bytes, data.done_bytes());
    info.read_bytes = data.done_bytes();
    info.generation = data.generation();
    info.counted = data.counted();
    info.intact = data.intact();
    info.tags = data.TagsByName().size();
    info.points = data.points();
    info.last_step = data.last_step();
    info.start_time = data.start_time();
    info.bad_records = data.bad_records();
    if (info.why.ok()) info.why = state.reader.Unreadable();
  });
  return info;
}

std::vector<RunCatalog::RunInfo> RunCatalog::Runs() const {
  const std::vector<CatalogRunPtr> all = table_.All();
  std::vector<RunInfo> runs;
  runs.reserve(all.size());
  for (const CatalogRunPtr& run : all) runs.push_back(DescribeRun(*run));
  std::stable_sort(runs.begin(), runs.end(),
                   [](const RunInfo& a, const RunInfo& b) { return a.update_us > b.update_us; });
  return runs;
}

absl::StatusOr<RunCatalog::RunInfo> RunCatalog::Describe(std::string_view run) const {
  const auto name = FindName(run);
  if (!name.ok()) return name.status();
  const CatalogRunPtr found = table_.Find(*name);
  if (found == nullptr) return NoLongerThere(*name);
  return DescribeRun(*found);
}

absl::StatusOr<std::shared_ptr<BriefItem>> RunCatalog::Brief(const std::string& run) const {
  auto item = brief_.Find(run);
  // (Find() also accepts a unique prefix.)
  if (item.ok() && (*item)->run()->name != run) return NoLongerThere(run);
  return item;
}

absl::Status RunCatalog::Read(const Request& request, const ReadFunction& use) {
  EndLingering();
  const CatalogRunPtr run = table_.Find(request.run);
  if (run == nullptr) {
    const auto name = FindName(request.run);
    return name.ok() ? absl::NotFoundError(
                           absl::StrCat("no run \"", request.run, "\" in ", options_.root))
                     : name.status();
  }
  const bool points = request.need == Need::kPoints;
  if (points) loader_->Touch(run->name);
  const CacheState cached =
      request.without_state ? CacheState::kNotCached : loader_->CacheStatusOf(run->name).state;
  bool wanted = false;
  std::size_t bytes = 0;
  const absl::Status status = run->With([&](CatalogRun::State& state) {
    RunData& data = state.reader.data();
    const auto unreadable = [&](const absl::Status& why) {
      return absl::DataLossError(
          absl::StrCat("run ", run->name, " cannot be read: ", why.message()));
    };
    std::optional<absl::Status> used;
    if (request.take_part || state.reader.Unreadable().ok()) {
      used = ReadLoaded(request, cached, state.reader, use);
    } else if (state.failure.ok()) {
      return unreadable(state.reader.Unreadable());  // The run will not be readable as it is now.
    }
    if (used.has_value()) {
      bytes = data.cached_bytes();
      // The rest of the run is requested, too.
      wanted = points && !data.cached() && !request.cached_only && !request.take_part;
      return *std::move(used);
    }
    if (request.cached_only) {
      return absl::FailedPreconditionError(
          absl::StrCat("run ", run->name, " is not cached; ask without cached_only, or cache it"));
    }
    if (!state.failure.ok() && options_.clock->Monotonic() - state.failed_at < kFailureHolds) {
      return unreadable(state.failure);
    }
    wanted = true;
    return run->BeingRead(state.reader);
  });
  if (wanted) {
    points ? loader_->Load(run->name) : loader_->ReadChanged(run->name);
  }
  // An answer may have sorted the points again, and the run keeps them.
  if (points && bytes > 0) loader_->SetBytes(*run, bytes);
  return status;
}

void RunCatalog::WhenReady(const Request& request, std::function<void()> ready) {
  const CatalogRunPtr run = table_.Find(request.run);
  if (run == nullptr) return ready();
  if (request.need == Need::kCounts) {
    const bool waits = run->With([&](CatalogRun::State& state) {
      if (state.gone || (state.reader.data().counted() && !state.in_vain())) return false;
      state.when_counted.push_back(ready);
      return true;
    });
    if (!waits) return ready();
    return loader_->ReadChanged(run->name);
  }
  const bool cached = run->With(
      [](CatalogRun::State& state) { return state.reader.data().cached() && !state.in_vain(); });
  if (cached) return ready();
  loader_->WhenLoaded(run->name, std::move(ready));
}

absl::Status RunCatalog::ReadWithin(absl::Duration timeout, Request request,
                                    const ReadFunction& use) {
  const absl::Duration deadline = options_.clock->Monotonic() + timeout;
  for (;;) {
    const absl::Status status = Read(request, use);
    if (!absl::IsUnavailable(status) || !scanned()) return status;
    request.whole = true;
    const auto latch = std::make_shared<Latch>();
    {
      MutexLock lock(waiting_mutex_);
      if (table_.stopped()) return absl::CancelledError("the process ends");
      waiting_.insert(latch);
    }
    WhenReady(request, [latch] { latch->Open(); });
    const bool ready = latch->Await(options_.clock, deadline);
    {
      MutexLock lock(waiting_mutex_);
      waiting_.erase(latch);
    }
    if (table_.stopped()) return absl::CancelledError("the process ends");
    if (!ready) return absl::DeadlineExceededError(status.message());
  }
}

absl::Status RunCatalog::CacheRun(const std::string& run) {
  if (table_.Find(run) == nullptr) return FindName(run).status();
  loader_->Touch(run);
  loader_->Load(run);
  return absl::OkStatus();
}

absl::Status RunCatalog::Uncache(const std::string& name) {
  MutexLock lock(listing_mutex_);
  const CatalogRunPtr run = table_.Find(name);
  if (run == nullptr) return FindName(name).status();
  const ListedRunPtr listed =
      run->With([](CatalogRun::State& state) { return state.reader.run(); });
  Remove(name);
  Add(listed, false);
  return absl::OkStatus();
}

RunCatalog::Stats RunCatalog::GetStats() const {
  Stats stats;
  const std::vector<CatalogRunPtr> all = table_.All();
  stats.runs = all.size();
  for (const CatalogRunPtr& run : all) {
    run->With([&](CatalogRun::State& state) {
      const RunData& data = state.reader.data();
      if (data.counted()) ++stats.counted;
      stats.memory_bytes += data.Bytes();
      stats.records += data.records();
      stats.bad_records += data.bad_records();
      stats.read_bytes += data.done_bytes();
      stats.total_bytes += state.reader.total_bytes();
    });
  }
  const RunLoader::Stats loader = loader_->GetStats();
  stats.event_bytes_read = loader.event_bytes_read;
  stats.cache = loader.cache;
  stats.loads = loader.loads;
  return stats;
}

}  // namespace datamanager
