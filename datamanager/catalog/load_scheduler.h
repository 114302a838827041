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

// Decides which run is read next, and on how many threads. It knows runs by name and a function
// that reads a little of one; it opens no file. Any thread may call any method; only the destructor
// blocks. Callbacks run on its threads (or in the destructor) without a lock, and must not block.
//
// Requested runs go first, then changed runs, then runs that were never read, then other runs to
// cache, newest first. Because work is done in small steps, a requested run starts at most one step
// later, whatever else is being loaded. Requested runs take turns, and so do changed ones. Every
// eighth step goes to a changed run, so that long loads do not delay announcements.
//
// Re-imagines MindInsight's loader pool (which reads one event of each run in turn, in an order of
// its own) and the thread pool over runs of TensorBoard's Rust server (one thread per run, which
// answers only when all of the run was read).
class LoadScheduler {
 public:
  static constexpr int kMaxThreads = 30;
  static constexpr std::size_t kMaxWaiting = 4096;

  // From the most to the least urgent.
  enum class Urgency : std::uint8_t {
    kAsked,
    kChanged,  // Its files have changed, or may have.
    kCount,    // Its contents are unknown.
    kUnasked,  // It may be requested later.
  };
  // The purpose of reading a run.
  enum class Need : std::uint8_t {
    kRefresh,  // Reads new data: the run is then counted, and still cached if it was.
    kCache,    // The same, and loads all its points (if they have room).
  };
  struct LoadRequest {
    Need need = Need::kRefresh;
    // True if a caller waits: points are then loaded even if they cannot be kept. Otherwise a load
    // that has no room is done at once.
    bool asked = false;
  };
  struct Progress {
    // Nothing is left to do for this step's need. Only the step that ends last may set it.
    bool done = false;
    // Number of threads that may read this run from now on, including this one: more than 1 if the
    // remaining work can be split. Other threads join only when they have nothing else to do; a
    // step that finds no part sets 1.
    int hands = 1;
    // With `done`: kept until all waiting callers of the run were called, so that they find points
    // that could not stay in memory (a lease of DetailCache).
    std::shared_ptr<void> hold;
    // With `done`: not OK if a part of the work failed. Waiting callers get the available data; the
    // rest of the work is retried, as after an error.
    absl::Status problem = absl::OkStatus();
  };
  // Reads a little of a run: some 4 MiB or 5 ms. Runs one step of a run at a time, unless `hands`
  // allows more. After an error the work on the run pauses until it is retried (see RetryPause()),
  // requested, or has changed. NotFound: the run was removed and is forgotten.
  using Step = std::function<absl::StatusOr<Progress>(const std::string& run, LoadRequest request)>;

  struct Options {
    // Limit of concurrent steps, 1..kMaxThreads. Threads are started on demand: never more than
    // there are runs (or parts of one) to read.
    int threads = 1;
    runtime::Clock* clock = runtime::Clock::Real();  // Not owned.
    Step step = {};
  };
  struct Stats {
    int threads = 0;          // Started so far.
    int busy = 0;             // In a step.
    std::size_t asked = 0;    // Runs with work, by urgency, including those being read...
    std::size_t changed = 0;  //
    std::size_t uncounted = 0;
    std::size_t unasked = 0;
    std::size_t failed = 0;  // ...except those that wait for a retry.
    std::uint64_t steps = 0;
    std::uint64_t failures = 0;
  };

  // Returns InvalidArgument if the number of threads is out of range.
  static absl::StatusOr<std::unique_ptr<LoadScheduler>> Create(Options options);
  // Waits for the steps in progress; waiting callers get Cancelled.
  ~LoadScheduler();
  LoadScheduler(const LoadScheduler&) = delete;
  LoadScheduler& operator=(const LoadScheduler&) = delete;

  // Adds work for this run. If a run has several urgencies or needs, the greatest counts; a run
  // that is being read is read again afterwards. kAsked is like Ask(), but nobody waits. `newest`,
  // the later of update and last access, orders runs of kCount and kUnasked, greatest first.
  void Schedule(const std::string& run, Urgency urgency, std::int64_t newest);

  // Caches the run before all others, and calls `done` once: OK when it is cached (or, if it has no
  // room, held until `done` returns, see Progress); the error of its load; NotFound if it was
  // forgotten; DeadlineExceeded at `deadline` (of clock->Monotonic()), which does not stop the
  // load; Cancelled when the scheduler ends.
  void Ask(const std::string& run, absl::Duration deadline,
           std::function<void(const absl::Status&)> done);

  // Forgets a removed run. A step in progress ends; no other step begins unless the run is
  // scheduled again.
  void Forget(const std::string& run);

  // Calls `done` once all work that is known now was done, has failed or was forgotten. Without
  // such work it calls `done` at once, on this thread; it never does if the scheduler ends first.
  void WhenLoaded(std::function<void()> done);

  Stats GetStats() const;

 private:
  using Calls = std::vector<std::function<void()>>;  // Callbacks, called without the mutex.
  // Requested work on a run. Several demands merge into one: see Merge().
  struct Demand {
    Urgency urgency;
    Need need;
    bool asked;
    std::int64_t newest;
  };
  // A call of WhenLoaded(), and the number of runs that it still waits for.
  struct Barrier {
    std::size_t left = 0;
    std::function<void()> done;
  };
  using Barriers = std::vector<std::shared_ptr<Barrier>>;
  struct Job;
  // The order in which runs are picked: by urgency, then newest first or by turn.
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
  // The state of the work on one run. A cycle is a sequence of steps until one reports that it is
  // done, or fails; demands that arrive meanwhile cause another cycle.
  struct Job {
    std::string run;
    Demand demand;
    std::optional<Place> place;              // Position in ready_.
    std::optional<absl::Duration> retry_at;  // Position in retries_.
    int failures = 0;                        // Consecutive failures.
    std::vector<std::uint64_t> waiters;

    // State of the current cycle.
    bool begun = false;
    int running = 0;  // Number of running steps.
    int hands = 1;
    bool forgotten = false;
    std::optional<LoadRequest> done_for;
    absl::Status problem;
    absl::Status error;
    std::shared_ptr<void> hold;
    Barriers of_cycle;

    std::optional<Demand> later;        // Demand that arrived since the cycle began.
    std::optional<Demand> asked_later;  // The same, but the cycle's last step may satisfy it.
    Barriers of_next_cycle;
  };
  // A call of Ask() that has not been answered.
  struct Waiter {
    Job* job;
    absl::Duration deadline;
    std::function<void(const absl::Status&)> done;
  };

  explicit LoadScheduler(Options options);
  // Merges `more` into a demand: the greatest urgency, need and `newest` count.
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
  runtime::CondVar work_;  // Signalled when more work can be picked.
  runtime::CondVar time_;  // Signalled for an earlier deadline or retry.
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<std::string, std::unique_ptr<Job>> jobs_ ABSL_GUARDED_BY(mutex_);
  std::set<Place> ready_ ABSL_GUARDED_BY(mutex_);
  std::set<Job*> helpable_ ABSL_GUARDED_BY(mutex_);  // At most as many as there are threads.
  std::set<std::pair<absl::Duration, Job*>> retries_ ABSL_GUARDED_BY(mutex_);
  std::map<std::uint64_t, Waiter> waiters_ ABSL_GUARDED_BY(mutex_);
  std::set<std::pair<absl::Duration, std::uint64_t>> deadlines_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t last_waiter_ ABSL_GUARDED_BY(mutex_) = 0;
  std::uint64_t turns_ ABSL_GUARDED_BY(mutex_) = 0;
  std::uint64_t asked_picks_ ABSL_GUARDED_BY(mutex_) = 0;
  std::uint64_t steps_ ABSL_GUARDED_BY(mutex_) = 0;
  std::uint64_t failures_ ABSL_GUARDED_BY(mutex_) = 0;
  std::size_t busy_ ABSL_GUARDED_BY(mutex_) = 0;
  // Guarded by the mutex, and only growing, until stopping_ is set; afterwards used by the
  // destructor alone, without the mutex.
  std::vector<std::unique_ptr<runtime::Thread>> threads_;
  std::unique_ptr<runtime::Thread> timer_;
};

// Returns the number of threads for the flag --load_threads; 0: as many as there are cores.
// InvalidArgument names the range.
absl::StatusOr<int> LoadThreads(int flag, unsigned cores);

}  // namespace datamanager

#endif  // DATAMANAGER_CATALOG_LOAD_SCHEDULER_H_
