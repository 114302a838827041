#include "datamanager/catalog/run_catalog.h"

#include <algorithm>
#include <atomic>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bus/wire/topic.h"
#include "datamanager/catalog/tag_levels.h"
#include "datamanager/catalog/use_of_run.h"
#include "datamanager/index/index_file.h"
#include "datamanager/read/run_data.h"
#include "eventlog/file_scan.h"
#include "runtime/counted.h"
#include "runtime/text/string_view.h"

// Always true:
// - Locks: listing_mutex_ is taken before all others, and mutex_ is the last one: nothing that
//   locks is called under it. The caches, the scheduler and the indexes lock themselves.
// - runs_ and runs_by_level_ have the same runs. A run that is removed is marked `gone` under its
//   own lock first, so that a step or a question that has a pointer to it stops there.
// - A run's files are read in steps of the scheduler. One thread leads a run at a time (State::led)
//   and holds its lock; others may read parts of a large file without it.
// - A question never reads files: it answers from memory, or is Unavailable and schedules the run.
// - Whatever makes places of points mean something else raises the run's generation, also over a
//   removal and a new run of the same name (generations_).
// - Memory for points is accounted for in cache_ before it is taken for a load, and given back when
//   the lease of the load ends.

namespace datamanager {
namespace {

using runtime::Absl;
using runtime::MutexLock;

constexpr std::size_t kNamesInAnError = 8;
constexpr std::string_view kRoot = "m/";
// A point takes at most a fourth of its record, in columns.
constexpr std::uint64_t kFileBytesOfAByte = 4;
// For how long a failure is the answer before a question tries again.
constexpr absl::Duration kFailureHolds = absl::Seconds(1);
// Between two loads of a run that nobody asks for: two that change all the time and have no room
// beside each other would take turns.
constexpr absl::Duration kLoadsUnaskedEvery = absl::Minutes(1);
constexpr absl::Duration kLongestLoad = absl::Minutes(10);
// A run that found no room stays for so long, for a caller that asks for the next part of it; and
// at most so many such runs stay.
constexpr absl::Duration kLingers = absl::Seconds(5);
constexpr std::size_t kMostLinger = 16;
constexpr std::size_t kMostRemembered = 100'000;

std::string NameSome(const std::vector<std::string>& names) {
  if (names.empty()) return "none";
  const std::size_t shown = std::min(names.size(), kNamesInAnError);
  std::string text =
      absl::StrJoin(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", ");
  if (shown < names.size()) absl::StrAppend(&text, " and ", names.size() - shown, " more");
  return text;
}

// "LEVEL/" and what follows, of a topic "m/LEVEL/..." or the beginning of one.
std::pair<std::string, std::string> SplitTopic(std::string_view topic) {
  const std::string_view rest = topic.substr(kRoot.size());
  const std::size_t slash = rest.find('/');
  if (slash == rest.npos) return {std::string(rest), ""};
  return {std::string(rest.substr(0, slash + 1)), std::string(rest.substr(slash + 1))};
}

std::string LevelOf(const std::string& run) { return absl::StrCat(bus::EncodeLevel(run), "/"); }

eventlog::ReadBuffer& OwnBuffer() {
  thread_local eventlog::ReadBuffer buffer;
  return buffer;
}

absl::Status NoLongerThere(const std::string& run) {
  return absl::NotFoundError(absl::StrCat("run \"", run, "\" is not there any more"));
}

}  // namespace

// A run, and the lock that is held for one step of reading it.
class RunCatalog::Run {
 public:
  struct State {
    State(const ListedRunPtr& listed, RunReader::Options options) : reader(listed, options) {}

    RunReader reader;
    TagLevels levels;
    // The points read until the run is counted were there before anybody could follow it.
    bool history = false;
    // The number of the KeptPoints that its points are kept for.
    std::uint64_t kept_by = 0;
    // When the newest file was written that something was read of since it was listed.
    std::int64_t grown_us = 0;
    std::uint64_t known_bytes = 0;  // Its share of known_bytes_ of the catalog.
    // Why the last step could not go on, and when.
    absl::Status failure;
    absl::Duration failed_at;
    std::vector<std::function<void()>> when_counted;
    bool gone = false;  // Removed: nothing of it is read or waited for any more.
    bool led = false;   // Somebody is in Lead().

    // It could not be read, and may be when it is tried again.
    bool in_vain() const { return !failure.ok() && !reader.Unreadable().ok(); }
  };

  Run(const ListedRunPtr& listed, RunReader::Options options, bool history)
      : name(listed->name), state_(listed, options) {
    state_.history = history;
    file_bytes = state_.reader.total_bytes();
  }

  // Calls `use` with the state, under the lock.
  template <typename Use>
  auto With(const Use& use) {
    waiting_.fetch_add(1);
    MutexLock lock(mutex_);
    waiting_.fetch_sub(1);
    // Several steps may be waiting for this turn, and there may be no other.
    who_waited_.SignalAll();
    return use(state_);
  }
  // The same for a step of reading: who asks goes first, or else a reader that is fast enough
  // would never let go. (A mutex is not fair.) Some turns later it is the step's turn all the same.
  template <typename Use>
  auto WithStep(const Use& use) {
    constexpr int kTurns = 8;
    MutexLock lock(mutex_);
    for (int turn = 0; turn < kTurns && waiting_.load() > 0; ++turn) who_waited_.Wait(mutex_);
    return use(state_);
  }

  // How much its points will take in memory, nearly. Without the lock.
  std::uint64_t ExpectedBytes() const {
    return std::max<std::uint64_t>(no_room_for, file_bytes / kFileBytesOfAByte);
  }
  void NoteNoRoom(std::uint64_t bytes) {
    no_room_for = std::max<std::uint64_t>(no_room_for, bytes);
  }

  const std::string name;
  std::atomic<std::uint64_t> file_bytes = 0;   // As listed.
  std::atomic<std::uint64_t> no_room_for = 0;  // Its points had so many bytes, and found no room.
  // Used by Lead() alone: the load that is under way, and from when on (of clock->Monotonic()) it
  // is loaded for nobody.
  Cache::Lease loading;
  absl::Duration load_unasked_at;
  bool index_looked_for = false;

 private:
  std::atomic<int> waiting_ = 0;
  runtime::Mutex mutex_;
  runtime::CondVar who_waited_;  // Has its turn.
  State state_ ABSL_GUARDED_BY(mutex_);
};

// While it is there, the run keeps its points.
struct RunCatalog::KeptPoints {
  KeptPoints(const RunPtr& run, std::uint64_t number) : run(run), number(number) {}
  ~KeptPoints() {
    const RunPtr there = run.lock();
    if (there == nullptr) return;
    there->With([this](Run::State& state) {
      if (state.kept_by == number) state.reader.DropPoints();
    });
  }
  KeptPoints(const KeptPoints&) = delete;
  KeptPoints& operator=(const KeptPoints&) = delete;

  const std::weak_ptr<Run> run;
  const std::uint64_t number;
};

absl::StatusOr<std::unique_ptr<RunCatalog>> RunCatalog::Create(Options options) {
  const int threads = options.load_threads;
  runtime::Clock* const clock = options.clock;
  std::unique_ptr<RunCatalog> catalog(new RunCatalog(std::move(options)));
  auto scheduler = LoadScheduler::Create(
      {.threads = threads,
       .clock = clock,
       .step = [self = catalog.get()](const std::string& run, LoadScheduler::Want want) {
         return self->Step(run, want);
       }});
  if (!scheduler.ok()) return scheduler.status();
  catalog->scheduler_ = *std::move(scheduler);
  return catalog;
}

RunCatalog::RunCatalog(Options options)
    : options_(std::move(options)),
      open_files_(options_.open_files),
      brief_([](BriefItem&) { return absl::OkStatus(); }),
      cache_({.byte_budget = options_.byte_budget, .clock = options_.clock}) {}

RunCatalog::~RunCatalog() {
  scheduler_.reset();
  MutexLock lock(mutex_);
  lingering_.clear();
}

void RunCatalog::ScanBegan() {
  whole_ = true;
  Happen(ManagerEvent::kReloadBegan);
}

void RunCatalog::Found(const RunTree::Delta& delta, std::span<const ListedRunPtr> runs,
                       const RunTree::Unreadable& unreadable, bool only_listing) {
  const bool first = !scanned();
  TakeListing(delta, runs, only_listing);
  if (only_listing) return;
  brief_.UpdateAll([this] { return !stopping_.load(); });
  {
    MutexLock lock(mutex_);
    if (!unreadable.root) scanned_ = true;
    scan_ended_ = true;
    no_wait_for_scan_.SignalAll();
    unreadable_ = unreadable;
  }
  EndLingering();
  const bool whole = std::exchange(whole_, false);
  // Room may have become free. (After the first scan all runs were just added.)
  if (!first && (whole || !delta.removed.empty())) LoadWhatHasRoom(runs);
  if (whole && options_.indexes != nullptr && unreadable.count == 0) {
    std::set<std::string> directories;
    for (const ListedRunPtr& run : runs) directories.insert(run->directory);
    options_.indexes->KeepOnly(directories);
  }
  has_runs_ = !runs.empty();
  if (unreadable.root) {
    if (whole) Happen(ManagerEvent::kReloadFailed);
    return;
  }
  if (runs.empty()) return Happen(ManagerEvent::kNoRuns);
  if (!whole) {
    // A look at what has changed may find the first run.
    const ManagerState state = GetWhole().state;
    if (state != ManagerState::kInvalid && state != ManagerState::kInit) return;
    Happen(ManagerEvent::kReloadBegan);
  }
  // The runs may be gone by then.
  scheduler_->WhenLoaded(
      [this] { Happen(has_runs_ ? ManagerEvent::kLoaded : ManagerEvent::kNoRuns); });
}

void RunCatalog::TakeListing(const RunTree::Delta& delta, std::span<const ListedRunPtr> runs,
                             bool only_listing) {
  const bool first = !scanned();
  MutexLock lock(listing_mutex_);
  if (!only_listing) brief_.Merge(runs);
  for (const std::string& name : delta.removed) Remove(name);
  for (const ListedRunPtr& listed : delta.recreated) {
    Remove(listed->name);
    Add(listed, NextGeneration(listed->name), false);
  }
  for (const ListedRunPtr& listed : delta.added) Add(listed, NextGeneration(listed->name), first);
  for (const RunTree::Changed& changed : delta.changed) Change(changed.run);
  if (only_listing) return;
  // Lists every run that is there, whichever part was told first that it has come.
  for (const ListedRunPtr& listed : runs) {
    if (Find(listed->name) == nullptr) Add(listed, NextGeneration(listed->name), false);
  }
}

std::uint64_t RunCatalog::NextGeneration(const std::string& name) const {
  MutexLock lock(mutex_);
  const auto known = generations_.find(name);
  return known == generations_.end() ? 0 : known->second + 1;
}

void RunCatalog::Change(const ListedRunPtr& listed) {
  const RunPtr run = Find(listed->name);
  if (run == nullptr) return;
  const bool reads = run->With([&](Run::State& state) {
    state.reader.SetRun(listed);
    if (listed->bytes >= state.reader.data().read_bytes()) state.grown_us = 0;
    run->file_bytes = state.reader.total_bytes();
    return !state.reader.idle();
  });
  cache_.SetUpdate(run->name, listed->update_us);
  if (const auto item = Brief(run->name); item.ok()) (*item)->SetRun(listed);
  if (reads) scheduler_->Schedule(run->name, LoadScheduler::Urgency::kChanged, listed->update_us);
  LoadIfRoom(*run);
}

void RunCatalog::Add(const ListedRunPtr& listed, std::uint64_t generation, bool history) {
  const auto run = std::make_shared<Run>(listed,
                                         RunReader::Options{.generation = generation,
                                                            .step_bytes = options_.step_bytes,
                                                            .open_files = &open_files_,
                                                            .hands = options_.load_threads,
                                                            .part_bytes = options_.part_bytes},
                                         history);
  {
    MutexLock lock(mutex_);
    runs_[run->name] = run;
    runs_by_level_.try_emplace(LevelOf(run->name), run);
  }
  cache_.SetUpdate(run->name, listed->update_us);
  // Both: it is counted soon, and cached at the same time if there is room; from the first step on.
  scheduler_->Schedule(run->name, LoadScheduler::Urgency::kUnasked, listed->update_us);
  scheduler_->Schedule(run->name, LoadScheduler::Urgency::kCount, listed->update_us);
}

void RunCatalog::Remove(const std::string& name) {
  const RunPtr run = Find(name);
  if (run == nullptr) return;
  std::vector<std::function<void()>> waiters;
  ListedRunPtr listed;
  const std::uint64_t generation = run->With([&](Run::State& state) {
    state.gone = true;
    waiters = std::move(state.when_counted);
    listed = state.reader.run();
    known_bytes_ -= std::exchange(state.known_bytes, 0);
    return state.reader.data().generation();
  });
  if (options_.indexes != nullptr) options_.indexes->Forget(*listed);
  {
    MutexLock lock(mutex_);
    runs_.erase(name);
    grown_.erase(name);
    const auto level = runs_by_level_.find(LevelOf(name));
    if (level != runs_by_level_.end() && level->second == run) runs_by_level_.erase(level);
    if (generations_.size() >= kMostRemembered) generations_.erase(generations_.begin());
    generations_[name] = generation;
  }
  scheduler_->Forget(name);
  cache_.Remove(name);
  cache_.SetReserved(known_bytes_);
  for (const auto& ready : waiters) ready();
}

void RunCatalog::Grown(const std::string& run, std::span<const std::string> files) {
  {
    MutexLock lock(mutex_);
    if (runs_.find(run) == runs_.end()) return;
    grown_[run].insert(files.begin(), files.end());
  }
  scheduler_->Schedule(run, LoadScheduler::Urgency::kChanged, NowUs());
}

absl::Status RunCatalog::LookAgain(const std::string& name) {
  const RunPtr run = Find(name);
  if (run == nullptr) return NoLongerThere(name);
  run->With([](Run::State& state) { state.reader.LookAtAll(); });
  scheduler_->Schedule(name, LoadScheduler::Urgency::kChanged, NowUs());
  return absl::OkStatus();
}

void RunCatalog::ReadOnLater() {
  std::set<std::string> runs;
  {
    MutexLock lock(mutex_);
    runs.swap(later_);
  }
  for (const std::string& name : runs) {
    const RunPtr run = Find(name);
    if (run == nullptr) continue;
    run->With([](Run::State& state) { state.reader.LookAtLater(); });
    scheduler_->Schedule(name, LoadScheduler::Urgency::kCount, 0);
  }
}

std::vector<std::string> RunCatalog::TakeGrown(const std::string& run) {
  MutexLock lock(mutex_);
  const auto grown = grown_.extract(run);
  if (grown.empty()) return {};
  return {grown.mapped().begin(), grown.mapped().end()};
}

void RunCatalog::WhenLoaded(std::function<void()> done) { scheduler_->WhenLoaded(std::move(done)); }

// One thread waits for what another says once.
struct RunCatalog::Latch {
  runtime::Mutex mutex;
  runtime::CondVar changed;
  bool open ABSL_GUARDED_BY(mutex) = false;

  void Open() {
    MutexLock lock(mutex);
    open = true;
    changed.SignalAll();
  }
  // False: not before `deadline` of the clock.
  bool Await(runtime::Clock* clock, absl::Duration deadline) {
    MutexLock lock(mutex);
    while (!open) {
      if (!clock->WaitUntil(changed, mutex, deadline)) return open;
    }
    return true;
  }
};

void RunCatalog::Stop() {
  stopping_ = true;
  std::set<std::shared_ptr<Latch>> waiting;
  {
    MutexLock lock(mutex_);
    waiting.swap(waiting_);
    no_wait_for_scan_.SignalAll();
  }
  for (const std::shared_ptr<Latch>& latch : waiting) latch->Open();
}

bool RunCatalog::AwaitScan(absl::Duration timeout) const {
  const absl::Duration deadline = options_.clock->Monotonic() + timeout;
  MutexLock lock(mutex_);
  while (!scan_ended_ && !stopping_) {
    if (!options_.clock->WaitUntil(no_wait_for_scan_, mutex_, deadline)) break;
  }
  return scan_ended_;
}

bool RunCatalog::AwaitLoaded(absl::Duration timeout) {
  const auto latch = std::make_shared<Latch>();
  const absl::Duration deadline = options_.clock->Monotonic() + timeout;
  WhenLoaded([latch] { latch->Open(); });
  return latch->Await(options_.clock, deadline);
}

bool RunCatalog::scanned() const {
  MutexLock lock(mutex_);
  return scanned_;
}

absl::Status RunCatalog::CheckScanned() const {
  MutexLock lock(mutex_);
  return scanned_ ? absl::OkStatus() : BeingScanned();
}

absl::Status RunCatalog::BeingScanned() const {
  if (unreadable_.root) return absl::UnavailableError(unreadable_.reasons.front().message());
  return absl::UnavailableError(
      absl::StrCat("runs are being looked for in ", options_.root, " for the first time, in ",
                   runtime::Counted(looked_into_, "directory", "directories"), " so far"));
}

void RunCatalog::LoadWhatHasRoom(std::span<const ListedRunPtr> runs) {
  std::vector<std::pair<std::int64_t, RunPtr>> absent;
  for (const ListedRunPtr& listed : runs) {
    const Cache::Status cached = cache_.StatusOf(listed->name);
    if (cached.state != CacheState::kNotCached) continue;
    if (RunPtr run = Find(listed->name); run != nullptr) absent.emplace_back(cached.newest_us, run);
  }
  // The newest first, as the first may be read at once, and might have to go again.
  std::sort(absent.begin(), absent.end(),
            [](const auto& a, const auto& b) { return a.first > b.first; });
  for (const auto& [newest_us, run] : absent) LoadIfRoom(*run);
}

void RunCatalog::LoadIfRoom(const Run& run) {
  const Cache::Status cached = cache_.StatusOf(run.name);
  if (cached.state != CacheState::kNotCached) return;
  if (!cache_.HasRoom(run.name, run.ExpectedBytes())) return;
  scheduler_->Schedule(run.name, LoadScheduler::Urgency::kUnasked, cached.newest_us);
}

void RunCatalog::BeginLoad(const RunPtr& run, bool asked) {
  if (run->loading != nullptr || cache_.Whole(run->name) != nullptr) return;
  const std::uint64_t expected = run->ExpectedBytes();
  const bool too_soon = Monotonic() < run->load_unasked_at;
  if (!asked && (too_soon || !cache_.HasRoom(run->name, expected))) return;
  std::uint64_t number = 0;
  {
    MutexLock lock(mutex_);
    number = ++loads_begun_;
  }
  Cache::Lease lease = cache_.BeginLoad(run->name, std::make_unique<KeptPoints>(run, number));
  run->With([&](Run::State& state) {
    state.kept_by = number;
    state.reader.KeepPoints();
  });
  if (!cache_.SetBytes(lease, expected) && !asked) return cache_.GiveUpLoad(lease);
  run->loading = std::move(lease);
}

void RunCatalog::BeginFromIndex(const RunPtr& run) {
  ListedRunPtr listed;
  IndexPart part = IndexPart::kHead;
  run->With([&](Run::State& state) {
    if (state.history) listed = state.reader.run();
    if (state.reader.data().keeps_points()) part = IndexPart::kAll;
  });
  if (listed == nullptr) return;
  std::optional<IndexReader> index = options_.indexes->Read(*listed, part);
  if (!index.has_value()) return;
  const absl::Status begun =
      run->With([&](Run::State& state) { return state.reader.BeginFrom(*std::move(index)); });
  if (!begun.ok()) options_.indexes->Refuse(*listed, begun);
}

void RunCatalog::TakePointsOfIndex(const RunPtr& run) {
  ListedRunPtr listed;
  run->With([&](Run::State& state) {
    if (options_.indexes->HasPointsOf(state.reader)) listed = state.reader.run();
  });
  if (listed == nullptr) return;
  std::optional<IndexReader> index = options_.indexes->Read(*listed, IndexPart::kAll);
  if (!index.has_value()) return;
  run->With([&](Run::State& state) { state.reader.TakePoints(*std::move(index)); });
}

void RunCatalog::WriteIndexes(RunIndexes::Which which, absl::Duration timeout) {
  if (options_.indexes == nullptr) return;
  const auto with_reader = [this](const std::string& name, const auto& use) {
    const RunPtr run = Find(name);
    return run != nullptr && run->With([&](Run::State& state) {
      if (!state.gone) use(state.reader);
      return !state.gone;
    });
  };
  const absl::Duration deadline = Monotonic() + timeout;
  options_.indexes->Write(which, with_reader, [&] { return Monotonic() < deadline; });
}

absl::StatusOr<LoadScheduler::Progress> RunCatalog::Step(const std::string& name,
                                                         LoadScheduler::Want want) {
  const RunPtr run = Find(name);
  if (run == nullptr) return NoLongerThere(name);
  RunReader::Part part;
  const bool leads = run->With([&](Run::State& state) {
    if (!state.gone) part = state.reader.TakePart();
    return part.part == nullptr && !std::exchange(state.led, true);
  });
  if (part.part != nullptr) return ReadPart(*run, std::move(part));
  if (!leads) return LoadScheduler::Progress{};
  auto progress = Lead(run, want);
  run->With([](Run::State& state) { state.led = false; });
  return progress;
}

LoadScheduler::Progress RunCatalog::ReadPart(Run& run, RunReader::Part part) {
  event_bytes_read_ += part.part->ReadOn(&OwnBuffer());
  LoadScheduler::Progress progress;
  run.WithStep([&](Run::State& state) {
    if (state.gone) return;
    state.reader.GivePart(std::move(part));
    progress.hands = state.reader.hands();
  });
  return progress;
}

absl::StatusOr<LoadScheduler::Progress> RunCatalog::Lead(const RunPtr& run,
                                                         LoadScheduler::Want want) {
  const std::string& name = run->name;
  const bool loading = run->loading != nullptr;
  if (want.need == LoadScheduler::Need::kCache) BeginLoad(run, want.asked);
  if (options_.indexes != nullptr) {
    if (!std::exchange(run->index_looked_for, true)) {
      BeginFromIndex(run);
    } else if (!loading && run->loading != nullptr) {
      TakePointsOfIndex(run);
    }
  }

  RunReader::Step step;
  std::vector<std::function<void()>> counted;
  std::uint64_t bytes = 0;
  int hands = 1;
  bool gone = false, later = false;
  const std::vector<std::string> grown = TakeGrown(name);
  run->WithStep([&](Run::State& state) {
    gone = state.gone;
    if (gone) return;
    state.reader.LookAt(grown);
    RunData& data = state.reader.data();
    step = state.reader.ReadOn(&OwnBuffer(), !state.history && options_.on_points != nullptr);
    if (options_.on_points != nullptr) {
      for (const RunData::Fresh& fresh : step.fresh) {
        options_.on_points(name, std::string(data.tag_name(fresh.tag)), data.generation(),
                           fresh.first, fresh.points);
      }
    }
    state.grown_us = step.anew ? step.modified_us : std::max(state.grown_us, step.modified_us);
    if (data.counted()) state.history = false;
    // If there is something of other files, that is served meanwhile.
    if (step.status.ok() && data.records() == 0) step.status = step.problem;
    if (step.anew) run->no_room_for = 0;
    state.failure = step.status;
    if (!step.status.ok()) state.failed_at = options_.clock->Monotonic();
    if (data.counted() || !step.status.ok()) counted.swap(state.when_counted);
    bytes = data.cached_bytes();
    const std::uint64_t known = data.Bytes() - bytes;
    known_bytes_ += known - std::exchange(state.known_bytes, known);
    event_bytes_read_ += step.read_bytes;
    if (options_.indexes != nullptr) options_.indexes->Stepped(state.reader, step);
    hands = state.reader.hands();
    later = state.reader.has_later();
  });
  for (const auto& ready : counted) ready();
  cache_.SetReserved(known_bytes_);
  if (later) {
    MutexLock lock(mutex_);
    later_.insert(name);
  }
  // It may be gone by now, or another one of that name.
  if (gone || Find(name) != run) {
    if (run->loading != nullptr) cache_.GiveUpLoad(std::exchange(run->loading, nullptr));
    return NoLongerThere(name);
  }

  const Cache::Lease kept = run->loading != nullptr ? run->loading : cache_.Whole(name);
  if (!step.status.ok()) {
    if (run->loading != nullptr) {
      cache_.FailLoad(std::exchange(run->loading, nullptr), step.status);
    } else {
      cache_.Fail(name, step.status);
    }
    return step.status;
  }
  const bool has_room = kept == nullptr || cache_.SetBytes(kept, bytes);
  if (!has_room) run->NoteNoRoom(bytes);
  if (run->loading != nullptr && !(step.more && has_room)) {
    run->load_unasked_at = Monotonic() + kLoadsUnaskedEvery;
  }
  if (!has_room && !want.asked && run->loading != nullptr) {
    cache_.GiveUpLoad(std::exchange(run->loading, nullptr));
    return LoadScheduler::Progress{};
  }
  if (step.more) return LoadScheduler::Progress{.hands = hands, .hold = nullptr};
  if (run->loading != nullptr) {
    cache_.EndLoad(std::exchange(run->loading, nullptr));
  } else {
    cache_.Read(name);
  }
  if (!step.problem.ok()) cache_.Fail(name, step.problem);
  LoadScheduler::Progress progress;
  progress.done = true;
  progress.hold = kept;
  progress.problem = step.problem;
  return progress;
}

RunCatalog::RunPtr RunCatalog::Find(std::string_view run) const {
  MutexLock lock(mutex_);
  const auto found = runs_.find(run);
  return found == runs_.end() ? nullptr : found->second;
}

RunCatalog::RunInfo RunCatalog::DescribeRun(Run& run) const {
  const Cache::Status cached = cache_.StatusOf(run.name);
  RunInfo info;
  info.state = cached.state;
  info.why = cached.why;
  info.access_us = cached.access_us;
  run.With([&](Run::State& state) {
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
  std::vector<RunPtr> all;
  {
    MutexLock lock(mutex_);
    for (const auto& [name, run] : runs_) all.push_back(run);
  }
  std::vector<RunInfo> runs;
  runs.reserve(all.size());
  for (const RunPtr& run : all) runs.push_back(DescribeRun(*run));
  std::stable_sort(runs.begin(), runs.end(),
                   [](const RunInfo& a, const RunInfo& b) { return a.update_us > b.update_us; });
  return runs;
}

absl::StatusOr<RunCatalog::RunInfo> RunCatalog::Describe(std::string_view run) const {
  const auto name = FindName(run);
  if (!name.ok()) return name.status();
  const RunPtr found = Find(*name);
  if (found == nullptr) return NoLongerThere(*name);
  return DescribeRun(*found);
}

absl::StatusOr<std::string> RunCatalog::FindName(std::string_view run) const {
  MutexLock lock(mutex_);
  if (runs_.find(run) != runs_.end()) return std::string(run);
  if (!scanned_) return BeingScanned();
  std::vector<std::string> matches;
  for (auto it = runs_.lower_bound(run);
       !run.empty() && it != runs_.end() && absl::StartsWith(it->first, Absl(run)); ++it) {
    matches.push_back(it->first);
  }
  if (matches.size() == 1) return matches.front();
  if (matches.size() > 1) {
    return absl::FailedPreconditionError(
        absl::StrCat("run \"", Absl(run), "\" matches ", NameSome(matches)));
  }
  return absl::NotFoundError(absl::StrCat("no run \"", Absl(run), "\" in ", options_.root));
}

absl::StatusOr<std::vector<std::string>> RunCatalog::Names() const {
  MutexLock lock(mutex_);
  if (!scanned_) return BeingScanned();
  std::vector<std::string> names;
  names.reserve(runs_.size());
  for (const auto& [name, run] : runs_) names.push_back(name);
  return names;
}

absl::StatusOr<std::shared_ptr<BriefItem>> RunCatalog::Brief(const std::string& run) const {
  auto item = brief_.Find(run);
  // (It finds what only one name begins with, too.)
  if (item.ok() && (*item)->run()->name != run) return NoLongerThere(run);
  return item;
}

absl::Status RunCatalog::BeingRead(const Run& run, std::uint64_t read, std::uint64_t total) const {
  return absl::UnavailableError(
      absl::StrCat("run ", run.name, " is being read, ", read, " of ", total, " bytes until now"));
}

absl::Status RunCatalog::Look(const Request& request, const Use& use) {
  EndLingering();
  const RunPtr run = Find(request.run);
  if (run == nullptr) {
    const auto name = FindName(request.run);
    return name.ok() ? absl::NotFoundError(
                           absl::StrCat("no run \"", request.run, "\" in ", options_.root))
                     : name.status();
  }
  const bool points = request.need == Need::kPoints;
  if (points) cache_.Touch(run->name);
  const CacheState cached =
      request.without_state ? CacheState::kNotCached : cache_.StatusOf(run->name).state;
  bool wanted = false;
  std::size_t bytes = 0;
  const absl::Status status = run->With([&](Run::State& state) {
    RunData& data = state.reader.data();
    const auto unreadable = [&](const absl::Status& why) {
      return absl::DataLossError(
          absl::StrCat("run ", run->name, " cannot be read: ", why.message()));
    };
    std::optional<absl::Status> used;
    if (request.take_part || state.reader.Unreadable().ok()) {
      used = UseWhatIsThere(request, cached, state.reader, use);
    } else if (state.failure.ok()) {
      return unreadable(state.reader.Unreadable());  // The run will not be readable as it is now.
    }
    if (used.has_value()) {
      bytes = data.cached_bytes();
      // The rest of it is asked for, too.
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
    return BeingRead(*run, data.read_bytes(), state.reader.total_bytes());
  });
  if (wanted) {
    scheduler_->Schedule(run->name,
                         points ? LoadScheduler::Urgency::kAsked : LoadScheduler::Urgency::kChanged,
                         NowUs());
  }
  if (points && bytes > 0) {
    // An answer may have sorted points anew, and keeps them.
    const Cache::Lease kept = cache_.Whole(run->name);
    if (kept != nullptr && !cache_.SetBytes(kept, bytes)) run->NoteNoRoom(bytes);
  }
  return status;
}

void RunCatalog::WhenReady(const Request& request, std::function<void()> ready) {
  const RunPtr run = Find(request.run);
  if (run == nullptr) return ready();
  if (request.need == Need::kCounts) {
    const bool waits = run->With([&](Run::State& state) {
      if (state.gone || (state.reader.data().counted() && !state.in_vain())) return false;
      state.when_counted.push_back(ready);
      return true;
    });
    if (!waits) return ready();
    return scheduler_->Schedule(run->name, LoadScheduler::Urgency::kChanged, NowUs());
  }
  const bool cached =
      run->With([](Run::State& state) { return state.reader.data().cached() && !state.in_vain(); });
  if (cached) return ready();
  scheduler_->Ask(run->name, options_.clock->Monotonic() + kLongestLoad,
                  [this, name = run->name, ready = std::move(ready)](const absl::Status&) {
                    if (cache_.StatusOf(name).state != CacheState::kCached) {
                      Linger(name, cache_.Whole(name));
                    }
                    ready();
                  });
}

absl::Status RunCatalog::LookWithin(absl::Duration timeout, Request request, const Use& use) {
  const absl::Duration deadline = options_.clock->Monotonic() + timeout;
  for (;;) {
    const absl::Status status = Look(request, use);
    if (!absl::IsUnavailable(status) || !scanned()) return status;
    request.whole = true;
    const auto latch = std::make_shared<Latch>();
    {
      MutexLock lock(mutex_);
      if (stopping_) return absl::CancelledError("the process ends");
      waiting_.insert(latch);
    }
    WhenReady(request, [latch] { latch->Open(); });
    const bool ready = latch->Await(options_.clock, deadline);
    {
      MutexLock lock(mutex_);
      waiting_.erase(latch);
    }
    if (stopping_) return absl::CancelledError("the process ends");
    if (!ready) return absl::DeadlineExceededError(status.message());
  }
}

void RunCatalog::Linger(const std::string& name, std::shared_ptr<void> hold) {
  if (hold == nullptr) return;
  std::vector<std::shared_ptr<void>> ended;  // Given back without the lock.
  MutexLock lock(mutex_);
  auto& [until, held] = lingering_[name];
  until = options_.clock->Monotonic() + kLingers;
  ended.push_back(std::exchange(held, std::move(hold)));
  if (lingering_.size() <= kMostLinger) return;
  const auto first = std::min_element(
      lingering_.begin(), lingering_.end(),
      [](const auto& a, const auto& b) { return a.second.first < b.second.first; });
  ended.push_back(std::move(first->second.second));
  lingering_.erase(first);
}

void RunCatalog::EndLingering() {
  std::vector<std::shared_ptr<void>> ended;  // Given back without the lock.
  MutexLock lock(mutex_);
  const absl::Duration now = options_.clock->Monotonic();
  for (auto it = lingering_.begin(); it != lingering_.end();) {
    if (it->second.first > now) {
      ++it;
      continue;
    }
    ended.push_back(std::move(it->second.second));
    it = lingering_.erase(it);
  }
}

absl::Status RunCatalog::CacheRun(const std::string& run) {
  if (Find(run) == nullptr) return FindName(run).status();
  cache_.Touch(run);
  scheduler_->Schedule(run, LoadScheduler::Urgency::kAsked, NowUs());
  return absl::OkStatus();
}

absl::Status RunCatalog::Uncache(const std::string& name) {
  MutexLock lock(listing_mutex_);
  const RunPtr run = Find(name);
  if (run == nullptr) return FindName(name).status();
  const ListedRunPtr listed = run->With([](Run::State& state) { return state.reader.run(); });
  Remove(name);
  Add(listed, NextGeneration(name), false);
  return absl::OkStatus();
}

std::pair<std::string, RunCatalog::RunPtr> RunCatalog::RunFromLevel(std::string_view level) const {
  MutexLock lock(mutex_);
  const auto found = runs_by_level_.lower_bound(level);
  if (found == runs_by_level_.end()) return {};
  return *found;
}

absl::Status RunCatalog::VisitTopics(
    std::string_view prefix, std::string_view after,
    const std::function<bool(const std::string& topic, std::uint64_t generation,
                             std::uint64_t points)>& visit) {
  // No topic that is wanted comes before this.
  const std::string_view from = std::max({prefix, after, kRoot});
  if (!from.starts_with(kRoot)) return absl::OkStatus();
  auto [level, tag] = SplitTopic(from);
  for (;;) {
    const std::pair<std::string, RunPtr> found = RunFromLevel(level);
    const RunPtr& run = found.second;
    const std::string run_topic = absl::StrCat(Absl(kRoot), found.first);
    if (run == nullptr || !(run_topic.starts_with(prefix) || prefix.starts_with(run_topic))) {
      return absl::OkStatus();
    }
    const std::string first_tag = found.first == level ? tag : "";
    bool go_on = false;
    const absl::Status status = run->With([&](Run::State& state) {
      const RunData& data = state.reader.data();
      if (!data.counted()) return BeingRead(*run, data.read_bytes(), state.reader.total_bytes());
      for (const TagLevels::Entry& entry : state.levels.Get(data)) {
        const std::uint64_t points = data.tag(entry.tag).summary.points;
        if (points == 0 || entry.level < first_tag) continue;
        const std::string topic = run_topic + entry.level;
        if (topic <= after) continue;
        if (!topic.starts_with(prefix)) return absl::OkStatus();
        if (!visit(topic, data.generation(), points)) return absl::OkStatus();
      }
      go_on = true;
      return absl::OkStatus();
    });
    if (!status.ok()) {
      scheduler_->Schedule(run->name, LoadScheduler::Urgency::kChanged, NowUs());
      return status;
    }
    if (!go_on) return absl::OkStatus();
    level = found.first + '\0';  // The next one there can be.
  }
}

absl::StatusOr<RunCatalog::Stretch> RunCatalog::PointsAfter(std::string_view topic,
                                                            std::span<const Place> known,
                                                            std::size_t limit,
                                                            std::optional<Request>* wait_for,
                                                            double since) {
  Stretch result;
  if (!topic.starts_with(kRoot)) return result;
  const auto [level, tag_level] = SplitTopic(topic);
  const std::pair<std::string, RunPtr> found = RunFromLevel(level);
  const RunPtr& run = found.second;
  if (run == nullptr || found.first != level) return result;
  Need need = Need::kCounts;
  const absl::Status status = run->With([&, &tag_level = tag_level](Run::State& state) {
    RunData& data = state.reader.data();
    const auto being_read = [&] {
      return BeingRead(*run, data.read_bytes(), state.reader.total_bytes());
    };
    if (!data.counted()) return being_read();
    const auto tag = state.levels.Find(data, tag_level);
    if (!tag.has_value()) return absl::OkStatus();
    result.run = run->name;
    result.tag = data.tag_name(*tag);
    result.generation = data.generation();
    for (const Place& place : known) {
      if (place.generation == result.generation) result.first = place.position;
    }
    const auto& summary = data.tag(*tag).summary;
    if (summary.points <= result.first) return absl::OkStatus();
    if (summary.last_time < since) {
      result.first = summary.points;
      result.passed = true;
      return absl::OkStatus();
    }
    need = Need::kPoints;
    if (!data.cached()) return being_read();
    data.tag(*tag).points.Read(result.first, limit, &result.points);
    return absl::OkStatus();
  });
  if (need == Need::kPoints) cache_.Touch(run->name);
  if (status.ok()) return result;
  *wait_for = Request{.run = run->name, .need = need, .whole = true};
  return status;
}

RunCatalog::Whole RunCatalog::GetWhole() const {
  MutexLock lock(mutex_);
  return {.state = status_.now, .unreadable = unreadable_};
}

RunCatalog::Stats RunCatalog::GetStats() const {
  Stats stats;
  std::vector<RunPtr> all;
  {
    MutexLock lock(mutex_);
    for (const auto& [name, run] : runs_) all.push_back(run);
  }
  stats.runs = all.size();
  for (const RunPtr& run : all) {
    run->With([&](Run::State& state) {
      const RunData& data = state.reader.data();
      if (data.counted()) ++stats.counted;
      stats.memory_bytes += data.Bytes();
      stats.records += data.records();
      stats.bad_records += data.bad_records();
      stats.read_bytes += data.done_bytes();
      stats.total_bytes += state.reader.total_bytes();
    });
  }
  stats.event_bytes_read = event_bytes_read_;
  stats.cache = cache_.GetStats();
  stats.loads = scheduler_->GetStats();
  return stats;
}

void RunCatalog::Happen(ManagerEvent event) {
  MutexLock lock(mutex_);
  status_ = After(status_, event);
}

}  // namespace datamanager
