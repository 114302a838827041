#ifndef TOOLS_YARD_FOLLOW_FOLLOW_H_
#define TOOLS_YARD_FOLLOW_FOLLOW_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bus/call/client.h"
#include "bus/json/sweep_json.h"
#include "bus/json/trial_and_job_json.h"
#include "bus/schema/envelope_generated.h"
#include "tools/yard/cli/context.h"

namespace yard {

// A trial, a sweep or a job; exactly one member is set.
struct Thing {
  std::optional<msg::TrialT> trial = std::nullopt;
  std::optional<msg::SweepT> sweep = std::nullopt;
  std::optional<msg::JobT> job = std::nullopt;

  const std::string& id() const { return trial ? trial->id : sweep ? sweep->id : job->id; }
};

// Preference if several things have the same name.
enum class Prefer {
  kLive,   // A live thing, else the trial, else the sweep.
  kTrial,  // The trial, for verbs that need a run or another part of trials.
};
// Finds a thing by id, unique prefix of an id, or name. NotFound also if the name is ambiguous; the
// error then lists the matches.
absl::StatusOr<Thing> FindThing(Context& context, const std::string& name,
                                Prefer prefer = Prefer::kLive);

// Returns the id of a job or of its task: "NAME/worker-1" becomes "j-abcde/worker-1". For a trial,
// returns the id of its job. FailedPrecondition for a sweep.
absl::StatusOr<std::string> FindJobOrTask(Context& context, const std::string& name);
// The same, but FailedPrecondition also for a trial: "NAME is a trial: the trainer WHY_NOT".
absl::StatusOr<std::string> FindOwnJob(Context& context, const std::string& name,
                                       const std::string& why_not);

// Returns the id of a trial. FailedPrecondition for others: "NAME is a job: only a trial WHAT".
absl::StatusOr<std::string> FindTrial(Context& context, const std::string& name,
                                      const std::string& what);

// Maps a service's error for a lookup by name: an ambiguous name (FailedPrecondition, with the
// matches) counts as NotFound.
absl::Status AsLookup(const absl::Status& status);

// Returns the call options of all verbs: the call waits for a service that is being restarted.
bus::CallOptions Patient(absl::Duration timeout = absl::ZeroDuration());

// Takes a line (without a newline) about an outage of a followed service; called on the following
// thread. If unset, the line goes to stderr. Needed for a screen on which other threads print too.
using Say = std::function<void(const std::string& line)>;

// Follows a trial until it has ended, across restarts of any service; passes each row to `on_part`
// once. Restarts the yard if it is wanted, and reports each outage once. Returns Unavailable if the
// yard was taken down meanwhile, DeadlineExceeded after `timeout`, and Cancelled if `on_part`
// returned false. Blocks; calls `on_part` on the caller's thread.
absl::StatusOr<msg::TrialT> FollowTrial(
    Context& context, const std::string& trial, std::uint64_t from_row, absl::Duration timeout,
    const std::function<bool(const msg::FollowTrialReplyT& part)>& on_part, const Say& say = {});

// Tells people who follow a trial how to resume it, once each time that it is paused.
class PauseNote {
 public:
  // Returns the line to print (without a newline) for this part; "" if none.
  std::string Take(const msg::FollowTrialReplyT& part);

 private:
  bool was_paused_ = false;
};

// Like FollowTrial(), for a sweep: `on_part` receives the sweep and those of its trials that have
// changed since event `from_event`.
absl::StatusOr<msg::SweepT> FollowSweep(
    Context& context, const std::string& sweep, std::uint64_t from_event, absl::Duration timeout,
    const std::function<bool(const msg::FollowSweepReplyT& part)>& on_part, const Say& say = {});

// Like FollowTrial(), for a job. Passes the job to `on_part` at once, and again whenever its state
// or the reason for its waiting changes; if it returns false, the result is CANCELLED.
absl::StatusOr<msg::JobT> FollowJob(Context& context, const std::string& job,
                                    absl::Duration timeout, const Say& say = {},
                                    const std::function<bool(const msg::JobT& job)>& on_part = {});

// Follows output: passes each byte of each task's streams to `on_part` once; with `follow`, that of
// all attempts from the current ones on. Returns when the job has ended.
absl::Status FollowLogs(Context& context, msg::LogsRequestT request,
                        const std::function<bool(const msg::LogsReplyT& part)>& on_part,
                        const Say& say = {});

using bus::StateName;
bool HasEnded(msg::TrialState state);
bool HasEnded(msg::SweepState state);
// Returns true for stages after which a sweep's trial does nothing unless somebody requests it.
bool HasEnded(msg::SweepStage stage);
bool HasEnded(msg::TaskState state);
// Returns true if the job runs a trial, which is then shown in its place.
bool IsOfTrial(const msg::JobT& job);

}  // namespace yard

#endif  // TOOLS_YARD_FOLLOW_FOLLOW_H_
