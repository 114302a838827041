#include "datamanager/catalog/run_loader.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "datamanager/index/index_file.h"
#include "datamanager/read/run_data.h"
#include "eventlog/file_scan.h"

// Always true:
// - A run's files are read in steps of the scheduler. One thread leads a run at a time (State::led)
//   and holds its lock; others may read parts of a large file without the lock.
// - A removed run is first marked `gone` under its own lock, so that a step that has a pointer to
//   it stops.
// - cache_ accounts for the memory of points before a load takes it, until the load's lease is
//   returned.
// - No lease is returned while a run's lock or mutex_ is held: the detail's destructor locks the
//   run.

namespace datamanager {
namespace {

using runtime::MutexLock;

// Minimum interval between two unrequested loads of a run. Otherwise two constantly changing runs
// that do not fit together would evict each other in turn.
constexpr absl::Duration kLoadsUnaskedEvery = absl::Minutes(1);
constexpr absl::Duration kLongestLoad = absl::Minutes(10);
// How long a run without room stays in memory for a caller that requests its next part, and how
// many such runs may stay.
constexpr absl::Duration kLingers = absl::Seconds(5);
constexpr std::size_t kMostLinger = 16;

eventlog::ReadBuffer& OwnBuffer() {
  thread_local eventlog::ReadBuffer buffer;
  return buffer;
}

absl::Status NoLongerThere(const std::string& run) {
  return absl::NotFoundError(absl::StrCat("run \"", run, "\" is not there any more"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<RunLoader>> RunLoader::Create(const CatalogOptions& options,
                                                             const RunTable* table,
                                                             eventlog::OpenFileBound* open_files) {
  std::unique_ptr<RunLoader> loader(new RunLoader(options, table, open_files));
  auto scheduler = LoadScheduler::Create(
      {.threads = options.load_threads,
       .clock = options.clock,
       .step = [self = loader.get()](const std::string& run, LoadScheduler::LoadRequest request) {
         return self->Step(run, request);
       }});
  if (!scheduler.ok()) return scheduler.status();
  loader->scheduler_ = *std::move(scheduler);
  return loader;
}

RunLoader::RunLoader(const CatalogOptions& options, const RunTable* table,
                     eventlog::OpenFileBound* open_files)
    : options_(options),
      table_(*table),
      open_files_(open_files),
      cache_({.byte_budget = options_.byte_budget, .clock = options_.clock}) {}

RunLoader::~RunLoader() {
  scheduler_.reset();
  // All leases must be returned before the cache is destroyed; no step uses a run any more.
  for (const CatalogRunPtr& run : table_.All()) run->loading = nullptr;
  decltype(lingering_) lingering;
  MutexLock lock(mutex_);
  lingering.swap(lingering_);
}

CatalogRunPtr RunLoader::NewRun(const ListedRunPtr& listed, std::uint64_t generation,
                                bool history) {
  return std::make_shared<CatalogRun>(listed,
                                      RunFilesReader::Options{.generation = generation,
                                                              .step_bytes = options_.step_bytes,
                                                              .open_files = open_files_,
                                                              .hands = options_.load_threads,
                                                              .part_bytes = options_.part_bytes},
                                      history);
}

void RunLoader::Begin(const CatalogRun& run, std::int64_t update_us) {
  cache_.SetUpdate(run.name, update_us);
  // Schedules both: the run is counted soon, and also cached, from the first step on, if there is
  // room.
  scheduler_->Schedule(run.name, LoadScheduler::Urgency::kUnasked, update_us);
  scheduler_->Schedule(run.name, LoadScheduler::Urgency::kCount, update_us);
}

void RunLoader::SetListed(CatalogRun& run, const ListedRunPtr& listed) {
  const bool reads = run.With([&](CatalogRun::State& state) {
    state.reader.SetRun(listed);
    if (listed->bytes >= state.reader.data().read_bytes()) state.grown_us = 0;
    run.file_bytes = state.reader.total_bytes();
    return !state.reader.idle();
  });
  cache_.SetUpdate(run.name, listed->update_us);
  if (reads) scheduler_->Schedule(run.name, LoadScheduler::Urgency::kChanged, listed->update_us);
  LoadIfRoom(run);
}

void RunLoader::Forget(CatalogRun& run) {
  const ListedRunPtr listed = run.With([&](CatalogRun::State& state) {
    known_bytes_ -= std::exchange(state.known_bytes, 0);
    return state.reader.run();
  });
  if (options_.indexes != nullptr) options_.indexes->Forget(*listed);
  scheduler_->Forget(run.name);
  cache_.Remove(run.name);
  cache_.SetReserved(known_bytes_);
}

void RunLoader::ReadChanged(const std::string& name) {
  scheduler_->Schedule(name, LoadScheduler::Urgency::kChanged, NowUs());
}

void RunLoader::Load(const std::string& name) {
  scheduler_->Schedule(name, LoadScheduler::Urgency::kAsked, NowUs());
}

void RunLoader::LoadAllWithRoom(std::span<const ListedRunPtr> runs) {
  std::vector<std::pair<std::int64_t, CatalogRunPtr>> absent;
  for (const ListedRunPtr& listed : runs) {
    const PointsCache::Status cached = cache_.StatusOf(listed->name);
    if (cached.state != CacheState::kNotCached) continue;
    if (CatalogRunPtr run = table_.Find(listed->name); run != nullptr) {
      absent.emplace_back(cached.newest_us, run);
    }
  }
  // Newest first: an older run might be loaded first and then evicted again.
  std::sort(absent.begin(), absent.end(),
            [](const auto& a, const auto& b) { return a.first > b.first; });
  for (const auto& [newest_us, run] : absent) LoadIfRoom(*run);
}

void RunLoader::LoadIfRoom(const CatalogRun& run) {
  const PointsCache::Status cached = cache_.StatusOf(run.name);
  if (cached.state != CacheState::kNotCached) return;
  if (!cache_.HasRoom(run.name, run.ExpectedBytes())) return;
  scheduler_->Schedule(run.name, LoadScheduler::Urgency::kUnasked, cached.newest_us);
}

void RunLoader::ReadDeferred() {
  std::set<std::string> runs;
  {
    MutexLock lock(mutex_);
    runs.swap(deferred_);
  }
  for (const std::string& name : runs) {
    const CatalogRunPtr run = table_.Find(name);
    if (run == nullptr) continue;
    run->With([](CatalogRun::State& state) { state.reader.ReadDeferred(); });
    scheduler_->Schedule(name, LoadScheduler::Urgency::kCount, 0);
  }
}

void RunLoader::SetBytes(CatalogRun& run, std::uint64_t bytes) {
  const PointsCache::Lease kept = cache_.Loaded(run.name);
  if (kept != nullptr && !cache_.SetBytes(kept, bytes)) run.NoteNoRoom(bytes);
}

void RunLoader::WhenLoaded(const std::string& name, std::function<void()> ready) {
  scheduler_->Ask(name, Monotonic() + kLongestLoad,
                  [this, name, ready = std::move(ready)](const absl::Status&) {
                    if (cache_.StatusOf(name).state != CacheState::kCached) {
                      Linger(name, cache_.Loaded(name));
                    }
                    ready();
                  });
}

void RunLoader::Linger(const std::string& name, std::shared_ptr<void> hold) {
  if (hold == nullptr) return;
  std::vector<std::shared_ptr<void>> ended;  // Destroyed after the unlock.
  MutexLock lock(mutex_);
  auto& [until, held] = lingering_[name];
  until = Monotonic() + kLingers;
  ended.push_back(std::exchange(held, std::move(hold)));
  if (lingering_.size() <= kMostLinger) return;
  const auto first = std::min_element(
      lingering_.begin(), lingering_.end(),
      [](const auto& a, const auto& b) { return a.second.first < b.second.first; });
  ended.push_back(std::move(first->second.second));
  lingering_.erase(first);
}

void RunLoader::EndLingering() {
  std::vector<std::shared_ptr<void>> ended;  // Destroyed after the unlock.
  MutexLock lock(mutex_);
  const absl::Duration now = Monotonic();
  for (auto it = lingering_.begin(); it != lingering_.end();) {
    if (it->second.first > now) {
      ++it;
      continue;
    }
    ended.push_back(std::move(it->second.second));
    it = lingering_.erase(it);
  }
}

void RunLoader::WriteIndexes(RunIndexes::Which which, absl::Duration timeout) {
  if (options_.indexes == nullptr) return;
  const auto with_reader = [this](const std::string& name, const auto& use) {
    const CatalogRunPtr run = table_.Find(name);
    return run != nullptr && run->With([&](CatalogRun::State& state) {
      if (!state.gone) use(state.reader);
      return !state.gone;
    });
  };
  const absl::Duration deadline = Monotonic() + timeout;
  options_.indexes->Write(which, with_reader, [&] { return Monotonic() < deadline; });
}

RunLoader::Stats RunLoader::GetStats() const {
  return {.event_bytes_read = event_bytes_read_,
          .cache = cache_.GetStats(),
          .loads = scheduler_->GetStats()};
}

void RunLoader::BeginLoad(const CatalogRunPtr& run, bool asked) {
  if (run->loading != nullptr || cache_.Loaded(run->name) != nullptr) return;
  const std::uint64_t expected = run->ExpectedBytes();
  const bool too_soon = Monotonic() < run->load_unasked_at;
  if (!asked && (too_soon || !cache_.HasRoom(run->name, expected))) return;
  const std::uint64_t number = ++loads_begun_;
  PointsCache::Lease lease = cache_.BeginLoad(run->name, std::make_unique<PointsHold>(run, number));
  run->With([&](CatalogRun::State& state) {
    state.kept_by = number;
    state.reader.KeepPoints();
  });
  if (!cache_.SetBytes(lease, expected) && !asked) return cache_.GiveUpLoad(lease);
  run->loading = std::move(lease);
}

void RunLoader::BeginFromIndex(CatalogRun& run) {
  ListedRunPtr listed;
  IndexPart part = IndexPart::kHead;
  run.With([&](CatalogRun::State& state) {
    if (state.history) listed = state.reader.run();
    if (state.reader.data().keeps_points()) part = IndexPart::kAll;
  });
  if (listed == nullptr) return;
  std::optional<IndexReader> index = options_.indexes->Read(*listed, part);
  if (!index.has_value()) return;
  const absl::Status begun =
      run.With([&](CatalogRun::State& state) { return state.reader.BeginFrom(*std::move(index)); });
  if (!begun.ok()) options_.indexes->Refuse(*listed, begun);
}

void RunLoader::TakePointsOfIndex(CatalogRun& run) {
  ListedRunPtr listed;
  run.With([&](CatalogRun::State& state) {
    if (options_.indexes->HasPointsOf(state.reader)) listed = state.reader.run();
  });
  if (listed == nullptr) return;
  std::optional<IndexReader> index = options_.indexes->Read(*listed, IndexPart::kAll);
  if (!index.has_value()) return;
  run.With([&](CatalogRun::State& state) { state.reader.TakePoints(*std::move(index)); });
}

absl::StatusOr<LoadScheduler::Progress> RunLoader::Step(const std::string& name,
                                                        LoadScheduler::LoadRequest request) {
  const CatalogRunPtr run = table_.Find(name);
  if (run == nullptr) return NoLongerThere(name);
  RunFilesReader::Part part;
  const bool leads = run->With([&](CatalogRun::State& state) {
    if (!state.gone) part = state.reader.TakePart();
    return part.part == nullptr && !std::exchange(state.led, true);
  });
  if (part.part != nullptr) return ReadPart(*run, std::move(part));
  if (!leads) return LoadScheduler::Progress{};
  auto progress = LeadStep(run, request);
  run->With([](CatalogRun::State& state) { state.led = false; });
  return progress;
}

LoadScheduler::Progress RunLoader::ReadPart(CatalogRun& run, RunFilesReader::Part part) {
  event_bytes_read_ += part.part->ReadOn(&OwnBuffer());
  LoadScheduler::Progress progress;
  run.WithStep([&](CatalogRun::State& state) {
    if (state.gone) return;
    state.reader.GivePart(std::move(part));
    progress.hands = state.reader.hands();
  });
  return progress;
}

absl::StatusOr<LoadScheduler::Progress> RunLoader::LeadStep(const CatalogRunPtr& run,
                                                            LoadScheduler::LoadRequest request) {
  const bool loading = run->loading != nullptr;
  if (request.need == LoadScheduler::Need::kCache) BeginLoad(run, request.asked);
  if (options_.indexes != nullptr) {
    if (!std::exchange(run->index_looked_for, true)) {
      BeginFromIndex(*run);
    } else if (!loading && run->loading != nullptr) {
      TakePointsOfIndex(*run);
    }
  }
  const StepResult result = ReadOn(*run);
  for (const auto& ready : result.counted) ready();
  cache_.SetReserved(known_bytes_);
  if (result.deferred) {
    MutexLock lock(mutex_);
    deferred_.insert(run->name);
  }
  // The run may have been removed or replaced meanwhile.
  if (result.gone || table_.Find(run->name) != run) {
    if (run->loading != nullptr) cache_.GiveUpLoad(std::exchange(run->loading, nullptr));
    return NoLongerThere(run->name);
  }
  return EndStep(*run, request, result);
}

RunLoader::StepResult RunLoader::ReadOn(CatalogRun& run) {
  StepResult result;
  const std::vector<std::string> grown = run.TakeGrown();
  run.WithStep([&](CatalogRun::State& state) {
    result.gone = state.gone;
    if (state.gone) return;
    state.reader.Recheck(grown);
    RunData& data = state.reader.data();
    RunFilesReader::Step& step = result.step;
    step = state.reader.ReadOn(&OwnBuffer(), !state.history && options_.on_points != nullptr);
    if (options_.on_points != nullptr) {
      for (const RunData::Fresh& fresh : step.fresh) {
        options_.on_points(run.name, std::string(data.tag_name(fresh.tag)), data.generation(),
                           fresh.first, fresh.points);
      }
    }
    state.grown_us = step.anew ? step.modified_us : std::max(state.grown_us, step.modified_us);
    if (data.counted()) state.history = false;
    // If other files have data, that data is served meanwhile.
    if (step.status.ok() && data.records() == 0) step.status = step.problem;
    if (step.anew) run.no_room_for = 0;
    state.failure = step.status;
    if (!step.status.ok()) state.failed_at = Monotonic();
    if (data.counted() || !step.status.ok()) result.counted.swap(state.when_counted);
    result.bytes = data.cached_bytes();
    const std::uint64_t known = data.Bytes() - result.bytes;
    known_bytes_ += known - std::exchange(state.known_bytes, known);
    event_bytes_read_ += step.read_bytes;
    if (options_.indexes != nullptr) options_.indexes->Stepped(state.reader, step);
    result.hands = state.reader.hands();
    result.deferred = state.reader.has_deferred();
  });
  return result;
}

absl::StatusOr<LoadScheduler::Progress> RunLoader::EndStep(CatalogRun& run,
                                                           LoadScheduler::LoadRequest request,
                                                           const StepResult& result) {
  const RunFilesReader::Step& step = result.step;
  const PointsCache::Lease kept = run.loading != nullptr ? run.loading : cache_.Loaded(run.name);
  if (!step.status.ok()) {
    if (run.loading != nullptr) {
      cache_.FailLoad(std::exchange(run.loading, nullptr), step.status);
    } else {
      cache_.Fail(run.name, step.status);
    }
    return step.status;
  }
  const bool has_room = kept == nullptr || cache_.SetBytes(kept, result.bytes);
  if (!has_room) run.NoteNoRoom(result.bytes);
  if (run.loading != nullptr && !(step.more && has_room)) {
    run.load_unasked_at = Monotonic() + kLoadsUnaskedEvery;
  }
  if (!has_room && !request.asked && run.loading != nullptr) {
    cache_.GiveUpLoad(std::exchange(run.loading, nullptr));
    return LoadScheduler::Progress{};
  }
  if (step.more) return LoadScheduler::Progress{.hands = result.hands, .hold = nullptr};
  if (run.loading != nullptr) {
    cache_.EndLoad(std::exchange(run.loading, nullptr));
  } else {
    cache_.Read(run.name);
  }
  if (!step.problem.ok()) cache_.Fail(run.name, step.problem);
  LoadScheduler::Progress progress;
  progress.done = true;
  progress.hold = kept;
  progress.problem = step.problem;
  return progress;
}

}  // namespace datamanager
