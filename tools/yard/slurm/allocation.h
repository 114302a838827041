#ifndef TOOLS_YARD_SLURM_ALLOCATION_H_
#define TOOLS_YARD_SLURM_ALLOCATION_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "tools/yard/slurm/slurm_commands.h"
#include "tools/yard/slurm/slurm_pool.h"

namespace yard {

// A node of a pool as the launcher reports it.
struct AllocationNode {
  std::string name;
  bool is_connected = false;
  bool has_come = false;      // It is connected now, or was before.
  bool is_claimed = false;    // A yard-node process has claimed it.
  std::string host = {};      // Host name that the node itself reports.
  std::int64_t since_us = 0;  // Time of its last connection or disconnection.
  std::vector<std::string> tasks = {};
};

// Decides the steps of one pool's allocation, and executes none, so that tests need only a fake
// clock and fake answers. Not thread-safe.
//
// The caller stores state() before it executes a step, and reports the result afterwards. It may be
// killed at any moment; its successor continues from the stored state. Invariants:
// - sbatch is called only after a state with the job's name and this call's count was stored.
// - Before another sbatch under the same name, a job without a known id is looked up by that name.
// - A failed or empty squeue answer ends nothing; while a node is connected, no answer does.
class Allocation {
 public:
  struct Times {
    absl::Duration message_timeout = absl::Seconds(10);  // Slurm's MessageTimeout.
    // A job counts as unknown to Slurm after this many denials by slurmctld over this long.
    int denials = 3;
    absl::Duration denied_for = absl::Seconds(30);
    // An allocation that Slurm denies is lost once no node was connected for this long.
    absl::Duration lost_after = absl::Minutes(5);
    // Time for an away node to reconnect when Slurm reports that its job has ended.
    absl::Duration away_for = absl::Seconds(5);
    absl::Duration retry = absl::Seconds(10);         // After a failed command or call.
    absl::Duration retry_sbatch = absl::Seconds(20);  // Times the failures in a row.
    absl::Duration once_before = absl::Minutes(2);    // A pool for one job waits this long for it,
    absl::Duration once_after = absl::Seconds(30);    // and stays this long after it.
    std::uint32_t most_failures = 3;
  };
  struct Options {
    std::string pool;
    Times times = {};
    // Returns 8 hexadecimal digits, different at each call.
    std::function<std::string()> nonce;
  };

  enum class Step {
    kNothing,  // Nothing to do until wake().
    kPrepare,  // Registers the allocation's nodes, and makes their keys.
    kSubmit,   // Calls sbatch.
    kLookUp,   // Searches squeue for a job of the allocation's name.
    kConfirm,  // Asks slurmctld for the job by id, because squeue did not list it.
    kExplain,  // Finds out why no node came from a job, or why its nodes have ended.
    kTell,     // Registers the nodes again, because `words()` has changed.
    kDrain,    // Stops new tasks on the nodes, and restarts running ones elsewhere.
    kCancel,   // Cancels all jobs of the allocation's name.
    kClear,    // Registers the next allocation's nodes with `words()`, removes all others.
    kForget,   // Removes all nodes, and the files of the pool.
  };

  Allocation(Options options, SlurmPoolState stored);

  const SlurmPoolState& state() const { return state_; }
  const SlurmPool& pool() const { return pool_; }
  // State in one sentence, shown at nodes that are not connected, and as the cause of lost tasks.
  const std::string& words() const { return state_.why; }
  // Call Next() again at this time at the latest.
  absl::Time wake() const { return wake_; }
  // Number of the allocation whose nodes are registered, or are to be registered next.
  std::uint64_t NumberOfNodes() const;
  static std::string NodeName(std::string_view pool, std::uint64_t number, std::uint32_t index);

  // ---- Inputs.
  void TakePool(SlurmPool pool);
  // `is_wanted`: live jobs use this pool. `is_held`: a pool made for one job or sweep must stay
  // even without them, because more jobs may come; its allocation need not.
  void TakeNodes(absl::Time now, std::vector<AllocationNode> nodes, bool is_wanted,
                 bool is_held = false);
  // Takes a successful squeue answer with all jobs, requested after the job's id was known.
  void TakeQueue(absl::Time now, const std::vector<QueuedJob>& jobs);
  // Takes a failure of squeue, which changes only the displayed words.
  void TakeNoAnswer(absl::string_view why);
  // Sets the directory of the nodes' programs.
  void TakePrograms(std::string directory) { state_.programs = std::move(directory); }
  // Gives the allocation back, because the yard stops.
  void Stop(absl::Time now);
  // Returns true once Stop() is complete: no step runs, and no Slurm job is left.
  bool IsStopped() const;
  // Returns true if Slurm has accepted a job for it, and its end has not been decided.
  bool HasAllocation() const;
  // Returns true if one of its nodes is connected.
  bool IsLinked() const;
  // Returns true once after each event about which Slurm may know more, and steadily for a while
  // after the nodes have disconnected without a reason from Slurm, which soon forgets ended jobs.
  bool WantsNews(absl::Time now);
  // Returns true if an answer of Slurm may end the allocation.
  bool DependsOnNews() const { return HasAllocation() && !IsLinked(); }
  // Returns true once kForget is done.
  bool IsForgotten() const { return is_forgotten_; }

  // ---- Steps. One at a time: Next() returns kNothing until the result of the last step is in.
  Step Next(absl::Time now);
  // Result of kPrepare, kTell, kDrain, kCancel, kClear and kForget.
  void Done(absl::Time now, const absl::Status& status);
  // Result of kSubmit.
  void Submitted(absl::Time now, const Submission& submission);
  // Result of kLookUp and kConfirm, as ReadQueue() returns it.
  void LookedUp(absl::Time now, const absl::StatusOr<std::vector<QueuedJob>>& jobs);
  // Result of kExplain; empty if nothing more is known. If no node came, a sentence; otherwise
  // Slurm's word for the end: "PREEMPTED".
  void Explained(absl::Time now, const std::string& why);

 private:
  using Phase = SlurmPoolState::Phase;

  bool HasTasks() const;
  bool IsOnceOver(absl::Time now);
  void Wake(absl::Time when);
  Step Begin(Step step);
  Step NextIdle(absl::Time now);
  Step NextSubmitting(absl::Time now);
  Step NextAlive(absl::Time now);
  Step NextEnded(absl::Time now);
  void NewAllocation(bool is_change);
  void Refuse();
  void Adopt(absl::Time now, const QueuedJob& job);
  void Say(std::string why);
  const QueuedJob* FindOwn(const std::vector<QueuedJob>& jobs) const;
  // `by_itself`: nobody in this yard has requested the end.
  void End(absl::Time now, bool by_itself, std::string why);
  void ExcludeFailedNode();
  std::string JobWords() const;

  Options options_;
  SlurmPoolState state_;
  SlurmPool pool_;
  bool has_pool_ = false;
  bool is_stopping_ = false;
  absl::Time wake_ = absl::InfinitePast();

  // Not stored; rebuilt after a restart.
  Step step_ = Step::kNothing;                    // Being executed.
  absl::Time not_before_ = absl::InfinitePast();  // Earliest time of the next step.
  absl::Time tell_not_before_ = absl::InfinitePast();
  absl::Time submit_not_before_ = absl::InfinitePast();  // The same for an allocation.
  std::vector<AllocationNode> nodes_;
  bool knows_nodes_ = false;
  bool is_wanted_ = false, was_wanted_ = false, is_held_ = false, was_held_ = false;
  absl::Time away_since_ = absl::InfiniteFuture();
  absl::Time unused_since_ = absl::InfiniteFuture();
  absl::Time unwanted_since_ = absl::InfiniteFuture();
  bool is_prepared_ = false;
  int looked_ = 0;                 // Lookups by name that found nothing, since the last sbatch.
  std::optional<SlurmLife> life_;  // From the last answer that listed the job.
  bool is_missing_ = false;        // The last good answer did not list the job.
  int denials_ = 0;
  absl::Time first_denial_;
  absl::Time explain_at_ = absl::InfiniteFuture();
  absl::Time leave_until_ = absl::InfinitePast();
  std::string telling_, told_;  // Words being sent to the nodes, and sent last.
  std::string refusal_;         // Words of an sbatch that was not the first call.
  bool is_drained_ = false;
  bool is_cancelled_ = false, is_clear_ = false, is_explained_ = false;
  bool is_forgotten_ = false;
  int cancels_ = 0;
  bool wants_news_ = false;
};

}  // namespace yard

#endif  // TOOLS_YARD_SLURM_ALLOCATION_H_
