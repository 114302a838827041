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

// A node of a pool, as the launcher knows it.
struct AllocationNode {
  std::string name;
  bool is_connected = false;
  bool has_come = false;      // It is connected, or was.
  bool is_claimed = false;    // A run has its allocation.
  std::string host = {};      // Its own name of its host.
  std::int64_t since_us = 0;  // It is connected, or away, since then.
  std::vector<std::string> tasks = {};
};

// Decides each step of the allocation of one pool, and carries none out. A fake clock and
// fake answers test it. Not thread safe.
//
// A caller stores state() before it carries a step out, and gives what came of it back. It may be
// killed at every moment: the next one goes on with the stored state. This holds always:
// - sbatch is called only after a state was stored that has the job's name, and counts the call.
// - A job without an id is looked up by its name before sbatch is called again, under that name.
// - A failed or empty answer of squeue ends nothing, nor does any answer while a node is connected.
class Allocation {
 public:
  struct Times {
    absl::Duration message_timeout = absl::Seconds(10);  // Slurm's.
    // slurmctld has to say so often, over so long, that it does not know a job.
    int denials = 3;
    absl::Duration denied_for = absl::Seconds(30);
    // No node of an allocation was connected for so long: with that it is lost.
    absl::Duration lost_after = absl::Minutes(5);
    // As long a node may be away while Slurm says that its job has ended: it connects again.
    absl::Duration away_for = absl::Seconds(5);
    absl::Duration retry = absl::Seconds(10);         // After a command or call that failed.
    absl::Duration retry_sbatch = absl::Seconds(20);  // Times the failures in a row.
    absl::Duration once_before = absl::Minutes(2);    // A pool for one job waits so long for it,
    absl::Duration once_after = absl::Seconds(30);    // and stays so long after it.
    std::uint32_t most_failures = 3;
  };
  struct Options {
    std::string pool;
    Times times = {};
    // 8 hexadecimal digits, other ones each time.
    std::function<std::string()> nonce;
  };

  enum class Step {
    kNothing,  // Until wake().
    kPrepare,  // Sets the nodes of the allocation, with keys.
    kSubmit,   // Calls sbatch.
    kLookUp,   // Looks for a job of its name.
    kConfirm,  // Asks slurmctld for the job of its id, which squeue has not listed.
    kExplain,  // Finds out why no node came from a job, or why nodes that came have ended.
    kTell,     // Sets the nodes again: `words()` has changed.
    kDrain,    // No task starts on the nodes any more, and those there are restarted.
    kCancel,   // Cancels all jobs of its name.
    kClear,    // Sets the nodes of the next allocation, and removes all others, with `words()`.
    kForget,   // Removes all nodes, and the files of the pool.
  };

  Allocation(Options options, SlurmPoolState stored);

  const SlurmPoolState& state() const { return state_; }
  const SlurmPool& pool() const { return pool_; }
  // People read this at a node that is not connected, and as the cause of lost tasks.
  const std::string& words() const { return state_.why; }
  // Next() has to be asked again by then.
  absl::Time wake() const { return wake_; }
  // The number of the allocation that the pool has nodes of, or is to get.
  std::uint64_t NumberOfNodes() const;
  static std::string NodeName(std::string_view pool, std::uint64_t number, std::uint32_t index);

  // ---- News.
  void TakePool(SlurmPool pool);
  // `is_wanted`: jobs that are not over have this pool. `is_held`: a pool that was made for them
  // stays all the same, since there may be more; its allocation does not.
  void TakeNodes(absl::Time now, std::vector<AllocationNode> nodes, bool is_wanted,
                 bool is_held = false);
  // A good answer of squeue, of all jobs, that was asked for after the job had its id.
  void TakeQueue(absl::Time now, const std::vector<QueuedJob>& jobs);
  // squeue has failed: that is shown, and changes nothing.
  void TakeNoAnswer(absl::string_view why);
  // The nodes' programs are in this directory.
  void TakePrograms(std::string directory) { state_.programs = std::move(directory); }
  // The yard stops: what there is is given back.
  void Stop(absl::Time now);
  bool IsStopped() const;
  // Jobs of its name are in Slurm's queue, or run.
  bool HasAllocation() const;
  // A node of it is connected.
  bool IsLinked() const;
  // Something has happened that Slurm knows more of: true once each time, and as long as its nodes
  // are gone since a moment ago and Slurm has not said why. (It forgets ended jobs.)
  bool WantsNews(absl::Time now);
  // Slurm's word may end it.
  bool DependsOnNews() const { return HasAllocation() && !IsLinked(); }
  // kForget is done.
  bool IsForgotten() const { return is_forgotten_; }

  // ---- Steps. One at a time: kNothing until the last one is done.
  Step Next(absl::Time now);
  // kPrepare, kTell, kDrain, kCancel, kClear, kForget.
  void Done(absl::Time now, const absl::Status& status);
  void Submitted(absl::Time now, const Submission& submission);
  // kLookUp, kConfirm: as ReadQueue() says.
  void LookedUp(absl::Time now, const absl::StatusOr<std::vector<QueuedJob>>& jobs);
  // kExplain: empty if nothing more is known. A sentence if no node came, else Slurm's word for the
  // end: "PREEMPTED".
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
  // `by_itself`: nobody here has wanted it.
  void End(absl::Time now, bool by_itself, std::string why);
  void ExcludeFailedNode();
  std::string JobWords() const;

  Options options_;
  SlurmPoolState state_;
  SlurmPool pool_;
  bool has_pool_ = false;
  bool is_stopping_ = false;
  absl::Time wake_ = absl::InfinitePast();

  // Known of this process alone.
  Step step_ = Step::kNothing;                    // Being done.
  absl::Time not_before_ = absl::InfinitePast();  // The next step.
  absl::Time tell_not_before_ = absl::InfinitePast();
  absl::Time submit_not_before_ = absl::InfinitePast();  // The next allocation.
  std::vector<AllocationNode> nodes_;
  bool knows_nodes_ = false;
  bool is_wanted_ = false, was_wanted_ = false, is_held_ = false, was_held_ = false;
  absl::Time away_since_ = absl::InfiniteFuture();
  absl::Time unused_since_ = absl::InfiniteFuture();
  absl::Time unwanted_since_ = absl::InfiniteFuture();
  bool is_prepared_ = false;
  int looked_ = 0;                 // Looks by name that found nothing, since the last sbatch.
  std::optional<SlurmLife> life_;  // By the last good answer that had the job.
  bool is_missing_ = false;        // The last good answer did not have it.
  int denials_ = 0;
  absl::Time first_denial_;
  absl::Time explain_at_ = absl::InfiniteFuture();
  absl::Time leave_until_ = absl::InfinitePast();
  std::string telling_, told_;  // The words that the nodes get, and have.
  std::string refusal_;         // By an sbatch after others that may have made a job.
  bool is_drained_ = false;
  bool is_cancelled_ = false, is_clear_ = false, is_explained_ = false;
  bool is_forgotten_ = false;
  int cancels_ = 0;
  bool wants_news_ = false;
};

}  // namespace yard

#endif  // TOOLS_YARD_SLURM_ALLOCATION_H_
