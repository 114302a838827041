#ifndef DATAMANAGER_CATALOG_DETAIL_CACHE_H_
#define DATAMANAGER_CATALOG_DETAIL_CACHE_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "datamanager/catalog/data_state.h"
#include "datamanager/query/run_facts.h"
#include "runtime/clock.h"
#include "runtime/mutex.h"

namespace datamanager {

// Decides which runs have their points in memory, within a budget of bytes, and keeps the state of
// every run. It holds an opaque `Detail` for each cached run; a caller that changes a detail
// reports its size in bytes. Any thread may call any method; none blocks. No Detail is destroyed
// while the lock is held.
//
// Re-imagines the detail cache of MindInsight's data manager: runs are ordered by the later of
// their update and their last access, in microseconds since 1970, and the earliest are evicted.
// Differences: the budget is in bytes, not 15 runs; a detail in use is not evicted; a run larger
// than the budget is served without being kept, and evicts no other run.
//
// A detail is handed out as a lease (a shared_ptr), and is not evicted while a lease exists. All
// leases must be returned before the cache is destroyed. If the points belong to a longer-lived
// object (a run with its own lock), the Detail's destructor drops them; call no method, and return
// no lease, while such a lock is held.
template <typename Detail>
class DetailCache {
 public:
  using Lease = std::shared_ptr<Detail>;

  struct Options {
    std::uint64_t byte_budget = 0;
    const runtime::Clock* clock = runtime::Clock::Real();  // Not owned.
  };
  struct Status {
    CacheState state = CacheState::kNotCached;
    absl::Status why;            // The last failure; OK once data was read since.
    int failures = 0;            // Consecutive failures.
    std::int64_t newest_us = 0;  // The later of update and last access.
    std::int64_t access_us = 0;  // 0: never.
    std::uint64_t bytes = 0;     // Size of its detail; of both details while it is reloaded.
  };
  struct Stats {
    std::uint64_t budget = 0;
    std::uint64_t bytes = 0;  // Total size of all kept details, including those being loaded.
    std::uint64_t evicted = 0;
    // Runs by state, without those that were never mentioned.
    std::size_t caching = 0, cached = 0, failed = 0;
  };

  explicit DetailCache(Options options) : options_(options) {}
  DetailCache(const DetailCache&) = delete;
  DetailCache& operator=(const DetailCache&) = delete;

  // Reserves `bytes` of the budget for data that is always in memory. At least a quarter of the
  // budget remains for details.
  void SetReserved(std::uint64_t bytes) {
    Garbage garbage;
    runtime::MutexLock lock(mutex_);
    const std::uint64_t budget = options_.byte_budget;
    room_ = std::max(budget - std::min(bytes, budget), budget / 4);
    Evict(std::numeric_limits<std::int64_t>::max(), &garbage);
  }
  // Sets the time of the last write to the run's files, from a scan. A future time counts as now.
  void SetUpdate(const std::string& run, std::int64_t update_us) {
    runtime::MutexLock lock(mutex_);
    Record& record = RecordOf(run);
    record.update_us = std::min(update_us, NowUs());
    Reorder(record);
  }
  // Notes a request for the run: it counts as accessed now.
  void Touch(const std::string& run) {
    runtime::MutexLock lock(mutex_);
    TouchRecord(RecordOf(run));
  }
  // Forgets a run that was removed or replaced. Leases stay valid.
  void Remove(const std::string& run) {
    Garbage garbage;
    runtime::MutexLock lock(mutex_);
    const auto it = records_.find(run);
    if (it == records_.end()) return;
    Take(it->second, &Record::current, &garbage);
    Take(it->second, &Record::loading, &garbage);
    --states_[static_cast<std::size_t>(it->second.status.now)];
    records_.erase(it);
  }

  // Returns the detail to answer from: the last complete one, otherwise the one being loaded; null
  // if the run has neither. Counts as an access.
  Lease Get(const std::string& run) {
    runtime::MutexLock lock(mutex_);
    const auto it = records_.find(run);
    if (it == records_.end()) return nullptr;
    TouchRecord(it->second);
    return LeaseOf(it->second.current != nullptr ? it->second.current : it->second.loading);
  }
  // Returns the complete detail, to add the run's growth; null if the run has none. Does not count
  // as an access.
  Lease Loaded(const std::string& run) {
    runtime::MutexLock lock(mutex_);
    const auto it = records_.find(run);
    return it == records_.end() ? nullptr : LeaseOf(it->second.current);
  }

  // True if a detail of this size would fit after evicting only older ones. Call it before loading
  // a run that nobody has requested.
  bool HasRoom(const std::string& run, std::uint64_t bytes) const {
    runtime::MutexLock lock(mutex_);
    if (bytes > room_) return false;
    const auto it = records_.find(run);
    const Record* const record = it == records_.end() ? nullptr : &it->second;
    std::uint64_t left = bytes_ - (record == nullptr ? 0 : record->KeptBytes());
    for (const Place& place : order_) {
      if (left + bytes <= room_) break;
      if (record == nullptr || place.newest >= record->Newest()) return false;
      left -= place.record->KeptBytes();
    }
    return left + bytes <= room_;
  }

  // Begins a load of the run with an empty detail, which is served from now on if there is no
  // complete one. Discards a load already in progress. Call SetBytes() with the expected size next,
  // so that a run that is too large evicts no other run.
  Lease BeginLoad(const std::string& run, std::unique_ptr<Detail> detail) {
    Garbage garbage;
    runtime::MutexLock lock(mutex_);
    Record& record = RecordOf(run);
    if (record.loading != nullptr) {
      Take(record, &Record::loading, &garbage);
      OnEvent(record, CacheEvent::kLoadGivenUp);
    }
    record.loading = std::make_shared<Slot>();
    record.loading->detail = std::move(detail);
    record.loading->record = &record;
    OnEvent(record, CacheEvent::kLoadBegan);
    Reorder(record);
    return LeaseOf(record.loading);
  }
  // Sets the size of a detail that is being loaded or has grown. Evicts older details to make room.
  // Returns false if there is no room; the detail is then destroyed with its last lease, and a load
  // that nobody has requested should be given up.
  bool SetBytes(const Lease& lease, std::uint64_t bytes) {
    Garbage garbage;
    runtime::MutexLock lock(mutex_);
    const SlotPtr slot = SlotOf(lease);
    if (slot->record == nullptr || !slot->kept) return false;
    Record& record = *slot->record;
    bytes_ += bytes - slot->bytes;
    slot->bytes = bytes;
    if (bytes <= room_) Evict(record.Newest(), &garbage);
    if (Fits(record)) return true;
    bytes_ -= slot->bytes;
    slot->kept = false;
    if (slot == record.current) {
      OnEvent(record, CacheEvent::kEvicted);
      ++evicted_;
    }
    return false;
  }
  // Ends a load: the detail is complete and replaces an older one. Does nothing for a discarded
  // load; the same holds for the other ways to end a load.
  void EndLoad(const Lease& lease) {
    Garbage garbage;
    runtime::MutexLock lock(mutex_);
    Record* const record = LoadingRecord(lease);
    if (record == nullptr) return;
    Take(*record, &Record::current, &garbage);
    record->current = std::exchange(record->loading, nullptr);
    OnEvent(*record, record->current->kept ? CacheEvent::kLoadKept : CacheEvent::kLoadNotKept);
    SetRead(*record);
  }
  // Ends a load that has no room. The detail that was cached before stays.
  void GiveUpLoad(const Lease& lease) {
    Garbage garbage;
    runtime::MutexLock lock(mutex_);
    Record* const record = LoadingRecord(lease);
    if (record == nullptr) return;
    Take(*record, &Record::loading, &garbage);
    OnEvent(*record, CacheEvent::kLoadGivenUp);
  }
  // Ends a load that failed. The detail that was cached before stays.
  void FailLoad(const Lease& lease, absl::Status why) {
    Garbage garbage;
    runtime::MutexLock lock(mutex_);
    Record* const record = LoadingRecord(lease);
    if (record == nullptr) return;
    Take(*record, &Record::loading, &garbage);
    SetFailed(*record, std::move(why));
  }

  // Reading the run's growth has failed, or succeeded, which clears the earlier failure.
  void Fail(const std::string& run, absl::Status why) {
    runtime::MutexLock lock(mutex_);
    SetFailed(RecordOf(run), std::move(why));
  }
  void Read(const std::string& run) {
    runtime::MutexLock lock(mutex_);
    const auto it = records_.find(run);
    if (it != records_.end()) SetRead(it->second);
  }

  Status StatusOf(const std::string& run) const {
    runtime::MutexLock lock(mutex_);
    const auto it = records_.find(run);
    if (it == records_.end()) return {};
    const Record& record = it->second;
    return {.state = record.status.now,
            .why = record.why,
            .failures = record.failures,
            .newest_us = record.Newest(),
            .access_us = record.access_us,
            .bytes = record.KeptBytes()};
  }
  Stats GetStats() const {
    const auto count = [this](CacheState state) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return states_[static_cast<std::size_t>(state)];
    };
    runtime::MutexLock lock(mutex_);
    return {.budget = options_.byte_budget,
            .bytes = bytes_,
            .evicted = evicted_,
            .caching = count(CacheState::kCaching),
            .cached = count(CacheState::kCached),
            .failed = count(CacheState::kFailed)};
  }

 private:
  struct Record;
  struct Slot {
    std::unique_ptr<Detail> detail;
    Record* record = nullptr;  // Null: no record refers to it; only its leases keep it.
    std::uint64_t bytes = 0;
    bool kept = true;  // Its bytes are counted.
    int leases = 0;
  };
  using SlotPtr = std::shared_ptr<Slot>;
  using Garbage = std::vector<SlotPtr>;  // Declared before a lock, so that it is destroyed after
                                         // the unlock.

  struct Record {
    std::string_view name;
    std::int64_t update_us = 0;
    std::int64_t access_us = 0;
    CacheStatus status;
    absl::Status why;
    int failures = 0;
    SlotPtr current;  // The complete detail.
    SlotPtr loading;
    std::int64_t place = 0;  // Its key in order_, if order_ contains it.

    std::int64_t Newest() const { return std::max(update_us, access_us); }
    static std::uint64_t KeptBytesOf(const SlotPtr& slot) {
      return slot != nullptr && slot->kept ? slot->bytes : 0;
    }
    std::uint64_t KeptBytes() const { return KeptBytesOf(current) + KeptBytesOf(loading); }
  };
  struct Place {
    std::int64_t newest;
    Record* record;

    bool operator<(const Place& other) const {
      return newest != other.newest ? newest < other.newest : record->name > other.record->name;
    }
  };
  // Returns a lease. The lease points to the detail itself.
  struct Return {
    DetailCache* cache;
    SlotPtr slot;

    void operator()(Detail*) const { cache->GiveBack(slot); }
  };

  std::int64_t NowUs() const { return absl::ToUnixMicros(options_.clock->Now()); }

  Record& RecordOf(const std::string& run) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto [it, added] = records_.try_emplace(run);
    if (added) {
      it->second.name = it->first;
      ++states_[static_cast<std::size_t>(it->second.status.now)];
    }
    return it->second;
  }
  // Accesses get distinct times, so that the last one wins.
  void TouchRecord(Record& record) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    last_access_us_ = std::max(last_access_us_ + 1, NowUs());
    record.access_us = last_access_us_;
    Reorder(record);
  }
  // Call it after a change of its times, or of whether it has slots.
  void Reorder(Record& record) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    order_.erase({record.place, &record});
    record.place = record.Newest();
    if (record.current != nullptr || record.loading != nullptr) {
      order_.insert({record.place, &record});
    }
  }
  void Take(Record& record, SlotPtr Record::*which, Garbage* garbage)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    SlotPtr& slot = record.*which;
    if (slot == nullptr) return;
    if (slot->kept) bytes_ -= slot->bytes;
    slot->record = nullptr;
    garbage->push_back(std::exchange(slot, nullptr));
    Reorder(record);
  }
  void OnEvent(Record& record, CacheEvent event) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    --states_[static_cast<std::size_t>(record.status.now)];
    record.status = After(record.status, event);
    ++states_[static_cast<std::size_t>(record.status.now)];
  }
  void SetFailed(Record& record, absl::Status why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    OnEvent(record, CacheEvent::kReadFailed);
    record.why = std::move(why);
    ++record.failures;
  }
  void SetRead(Record& record) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    OnEvent(record, CacheEvent::kRead);
    record.why = absl::OkStatus();
    record.failures = 0;
  }
  // Evicts runs older than `newest`, oldest first, until the budget suffices. A detail that is in
  // use or being loaded is counted as evicted, because it will be evicted later.
  void Evict(std::int64_t newest, Garbage* garbage) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    std::uint64_t left = bytes_;
    for (auto it = order_.begin(); it != order_.end() && left > room_;) {
      const Place place = *it++;  // Taking a record's detail removes it from order_.
      if (place.newest >= newest) return;
      left -= place.record->KeptBytes();
      const SlotPtr& current = place.record->current;
      if (current == nullptr || !current->kept || current->leases > 0) continue;
      Take(*place.record, &Record::current, garbage);
      OnEvent(*place.record, CacheEvent::kEvicted);
      ++evicted_;
    }
  }
  // True if the budget suffices apart from bytes that will be freed later: those of older runs in
  // use, and those of the run's own previous detail while it is reloaded.
  bool Fits(const Record& record) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    std::uint64_t left = bytes_;
    if (record.loading != nullptr) left -= record.KeptBytesOf(record.current);
    for (const Place& place : order_) {
      if (left <= room_ || place.newest >= record.Newest()) break;
      left -= place.record->KeptBytes();
    }
    return left <= room_;
  }

  Lease LeaseOf(const SlotPtr& slot) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (slot == nullptr) return nullptr;
    ++slot->leases;
    return Lease(slot->detail.get(), Return{this, slot});
  }
  static const SlotPtr& SlotOf(const Lease& lease) { return std::get_deleter<Return>(lease)->slot; }
  // Returns null if another load has begun since, or the run was removed.
  Record* LoadingRecord(const Lease& lease) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const SlotPtr& slot = SlotOf(lease);
    return slot->record != nullptr && slot->record->loading == slot ? slot->record : nullptr;
  }
  void GiveBack(const SlotPtr& slot) {
    Garbage garbage;
    runtime::MutexLock lock(mutex_);
    if (--slot->leases > 0) return;
    if (slot->record != nullptr && !slot->kept && slot->record->current == slot) {
      Take(*slot->record, &Record::current, &garbage);
    }
    Evict(std::numeric_limits<std::int64_t>::max(), &garbage);
  }

  const Options options_;
  mutable runtime::Mutex mutex_;
  std::unordered_map<std::string, Record> records_ ABSL_GUARDED_BY(mutex_);
  std::set<Place> order_ ABSL_GUARDED_BY(mutex_);  // Records with a slot, oldest first.
  std::array<std::size_t, 4> states_ ABSL_GUARDED_BY(mutex_) = {};
  std::uint64_t room_ ABSL_GUARDED_BY(mutex_) = options_.byte_budget;  // Budget for details.
  std::uint64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::uint64_t evicted_ ABSL_GUARDED_BY(mutex_) = 0;
  std::int64_t last_access_us_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace datamanager

#endif  // DATAMANAGER_CATALOG_DETAIL_CACHE_H_
