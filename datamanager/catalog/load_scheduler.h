#ifndef DATAMANAGER_CATALOG_LOAD_SCHEDULER_H_
#define DATAMANAGER_CATALOG_LOAD_SCHEDULER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "runtime/clock.h"
#include "runtime/mutex.h"
#include "runtime/thread.h"

namespace datamanager {

// Decides which run is read next, and on how many threads. It knows names of runs and a function
// that reads a little of one; it opens no file. Any thread may call any method; none blocks but the
// destructor. Callbacks run on its threads (or in the destructor) without a lock, and must not
// block.
//
// Runs that are asked for go first, then runs that have changed, then runs that nobody has looked
// into, then the rest of the cache, newest first. As work is done in small steps, a run that is
// asked for begins one step later at most, whatever else is being loaded. Runs that are asked for
// take turns, and so do changed ones; of eight steps one is for a changed run, so that long loads
// hold up no announcement.
//
// Re-imagines MindInsight's loader pool (which reads one event of each run in turn, in its own
// order) and the thread pool over runs of TensorBoard's Rust server (one thread a run, whose answer
// comes when all of a run has been read).
class LoadScheduler {
 public:
  static constexpr int kMaxThreads = 30;
  static constexpr std::size_t kMaxWaiting = 4096;

  // From the most to the least urgent.
  enum class Urgency : std::uint8_t {
    kAsked,
    kChanged,  // Its files have, or may have.
    kCount,    // Nobody knows yet what is in it.
    kUnasked,  // It might be asked for.
  };
  // The purpose of reading a run.
  enum class Need : std::uint8_t {
    kRefresh,  // Its new data: then the run is counted, and still cached if it was.
    kCache,    // The same, and all its points are in memory (if they find room).
  };
  struct LoadRequest {
    Need need = Need::kRefresh;
    // Somebody asks: points are to be loaded whether they can be kept or not. Otherwise a load for
    // which there is no room is done, as there is nothing to do.
    bool asked = false;
  };
  struct Progress {
    // Nothing is left to do for the want of this step. Only the step that ends last says so.
    bool done = false;
    // How many threads may read this run from now on, this one included: more than 1 if what is
    // left falls into parts. Others join only when they have nothing else to do; a step that finds
    // no part says 1.
    int hands = 1;
    // With `done`: kept until all waiting callers of the run have been called, so that they find
    // points that could not be kept in memory (a lease of DetailCache).
    std::shared_ptr<void> hold;
    // With `done`: not OK if a part of the work could not be done. Waiting callers get what there
    // is; the rest of the work is tried again, as after an error.
    absl::Status problem = absl::OkStatus();
  };
  // Reads a little of a run: some 4 MiB or 5 ms. One step of a run at a time, unless `hands` said
  // otherwise. An error ends the work on the run for now; it is tried again, see RetryPause(), or
  // when it is asked for or has changed. NotFound: the run is gone; it is forgotten.
  using Step = std::function<absl::StatusOr<Progress>(const std::string& run, LoadRequest request)>;

  struct Options {
    // At most so many steps at once, 1..kMaxThreads. Threads are started when there is work for
    // them: there are never more than runs (or parts of one) to read.
    int threads = 1;
    runtime::Clock* clock = runtime::Clock::Real();  // Not owned.
    Step step = {};
  };
  struct Stats {
    int threads = 0;          // Started so far.
    int busy = 0;             // In a step.
    std::size_t asked = 0;    // Runs there is work for, by urgency, those being read included...
    std::size_t changed = 0;  //
    std::size_t uncounted = 0;
    std::size_t unasked = 0;
    std::size_t failed = 0;  // ...but for those that wait to be tried again.
    std::uint64_t steps = 0;
    std::uint64_t failures = 0;
  };

  // InvalidArgument for a number of threads that is out of range.
  static absl::StatusOr<std::unique_ptr<LoadScheduler>> Create(Options options);
  // Waits for the steps that are under way; waiting callers get Cancelled.
  ~LoadScheduler();
  LoadScheduler(const LoadScheduler&) = delete;
  LoadScheduler& operator=(const LoadScheduler&) = delete;

  // Says that there is work for this run. The greatest of several urgencies counts, and the
  // greatest of several needs; a run that is being read is looked at again afterwards. kAsked does
  // the same as Ask(), but nobody waits. `newest` orders runs of kCount and kUnasked: the later of
  // update and last access, greatest first.
  void Schedule(const std::string& run, Urgency urgency, std::int64_t newest);

  // Caches the run before all others. `done` is called once: OK when it is cached (or held, see
  // Progress, until `done` returns, if there is no room for it); the error of its load; NotFound
  // when it was forgotten; DeadlineExceeded at `deadline` (of clock->Monotonic()), which leaves the
  // work under way; Cancelled at the end.
  void Ask(const std::string& run, absl::Duration deadline,
           std::function<void(const absl::Status&)> done);

  // The run is gone. A step of it that is under way ends; no other begins unless it is scheduled
  // again.
  void Forget(const std::string& run);

  // Calls `done` once all work that is known now has been done, has failed or was forgotten: at
  // once, on this thread, if there is no work; never, if the scheduler ends before.
  void WhenLoaded(std::function<void()> done);

  Stats GetStats() const;

 private:
  using Calls = std::vector<std::function<void()>>;  // Called without the mutex.
  // Work that is wanted on a run.
  struct Demand {
    Urgency urgency;
    Need need;
    bool asked;
    std::int64_t newest;
  };
  // A caller of WhenLoaded(), and how many runs it still waits for.
  struct Barrier {
    std::size_t left = 0;
    std::function<void()> done;
  };
  using Barriers = std::vector<std::shared_ptr<Barrier>>;
  struct Job;
  // The order in which runs are picked.
  struct Place {
    Urgency urgency;
    std::int64_t order;
    std::uint64_t turn;
    Job* job;

    bool operator<(const Place& other) const {
      return std::tie(urgency, order, turn, job) <
             std::tie(other.urgency, other.order, other.turn, other.job);
    }
  };
  // All that is known of the work on one run.
  struct Job {
    std::string run;
    Demand demand;
    std::optional<Place> place;              // In ready_.
    std::optional<absl::Duration> retry_at;  // In retries_.
    int failures = 0;                        // In a row.
    std::vector<std::uint64_t> waiters;

    // State of the cycle that is under way.
    bool begun = false;
    int running = 0;  // Steps.
    int hands = 1;
    bool forgotten = false;
    std::optional<LoadRequest> done_for;
    absl::Status problem;
    absl::Status error;
    std::shared_ptr<void> hold;
    Barriers of_cycle;

    std::optional<Demand> later;        // Wanted since it began.
    std::optional<Demand> asked_later;  // The same; its last step may do.
    Barriers of_next_cycle;
  };
  // A caller of Ask().
  struct Waiter {
    Job* job;
    absl::Duration deadline;
    std::function<void(const absl::Status&)> done;
  };

  explicit LoadScheduler(Options options);
  static void Merge(const Demand& more, Demand* demand);
  static void Merge(const Demand& more, std::optional<Demand>* demand);
  Job& JobOf(const std::string& run) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Add(Job& job, const Demand& demand) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Enqueue(Job& job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Dequeue(Job& job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void StopRetry(Job& job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Erase(Job& job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void FindThread() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Job* Pick() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Work();
  LoadRequest BeginStep(Job& job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndStep(Job& job, LoadRequest request, absl::StatusOr<Progress> progress,
               std::shared_ptr<void>* hold, Calls* calls) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ShowPart(Job& job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndCycle(Job& job, std::shared_ptr<void>* hold, Calls* calls)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CountFailure(Job& job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TryAgainLater(Job& job, Calls* calls) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndWaits(Job& job, const absl::Status& status, Calls* calls)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static void Release(Barriers* barriers, Calls* calls);
  void WatchTime();
  bool TakeDue(Calls* calls) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  static constexpr Demand kNothing = {Urgency::kUnasked, Need::kRefresh, false,
                                      std::numeric_limits<std::int64_t>::min()};

  const Options options_;
  mutable runtime::Mutex mutex_;
  runtime::CondVar work_;  // There is more to pick.
  runtime::CondVar time_;  // There is an earlier deadline or retry.
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<std::string, std::unique_ptr<Job>> jobs_ ABSL_GUARDED_BY(mutex_);
  std::set<Place> ready_ ABSL_GUARDED_BY(mutex_);
  std::set<Job*> helpable_ ABSL_GUARDED_BY(mutex_);  // No more than there are threads.
  std::set<std::pair<absl::Duration, Job*>> retries_ ABSL_GUARDED_BY(mutex_);
  std::map<std::uint64_t, Waiter> waiters_ ABSL_GUARDED_BY(mutex_);
  std::set<std::pair<absl::Duration, std::uint64_t>> deadlines_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t last_waiter_ ABSL_GUARDED_BY(mutex_) = 0;
  std::uint64_t turns_ ABSL_GUARDED_BY(mutex_) = 0;
  std::uint64_t asked_picks_ ABSL_GUARDED_BY(mutex_) = 0;
  std::uint64_t steps_ ABSL_GUARDED_BY(mutex_) = 0;
  std::uint64_t failures_ ABSL_GUARDED_BY(mutex_) = 0;
  std::size_t busy_ ABSL_GUARDED_BY(mutex_) = 0;
  // Grows until stopping_, under the mutex; afterwards the destructor's.
  std::vector<std::unique_ptr<runtime::Thread>> threads_;
  std::unique_ptr<runtime::Thread> timer_;
};

// The number of threads for the flag --load_threads; 0: as many as there are cores. InvalidArgument
// names the range.
absl::StatusOr<int> LoadThreads(int flag, unsigned cores);

}  // namespace datamanager

#endif  // DATAMANAGER_CATALOG_LOAD_SCHEDULER_H_
