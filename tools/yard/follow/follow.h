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
#include "bus/json/things_json.h"
#include "bus/schema/envelope_generated.h"
#include "tools/yard/cli/context.h"

namespace yard {

// A trial, a sweep or a job: exactly one is set.
struct Thing {
  std::optional<msg::TrialT> trial = std::nullopt;
  std::optional<msg::SweepT> sweep = std::nullopt;
  std::optional<msg::JobT> job = std::nullopt;

  const std::string& id() const { return trial ? trial->id : sweep ? sweep->id : job->id; }
};

// The choice if several things have the same name.
enum class Prefer {
  kLive,   // The thing that has not ended, else the trial, else the sweep.
  kTrial,  // The trial: a run, or something else that no job has, is meant.
};
// By id, unique prefix of one, or name. NotFound, also for an ambiguous name (with the matches).
absl::StatusOr<Thing> FindThing(Context& context, const std::string& name,
                                Prefer prefer = Prefer::kLive);

// The id of a job, or of its task: "NAME/worker-1" becomes "j-abcde/worker-1". A trial gives the id
// of its job. FailedPrecondition for a sweep.
absl::StatusOr<std::string> FindJobOrTask(Context& context, const std::string& name);
// The same, but FailedPrecondition for a trial, too: "NAME is a trial: the trainer WHY_NOT".
absl::StatusOr<std::string> FindOwnJob(Context& context, const std::string& name,
                                       const std::string& why_not);

// The id of a trial; FailedPrecondition for others: "NAME is a job: only a trial WHAT".
absl::StatusOr<std::string> FindTrial(Context& context, const std::string& name,
                                      const std::string& what);

// A service's answer to the name of a thing: one that fits two (FailedPrecondition, which names
// them) is as good as not found.
absl::Status AsLookup(const absl::Status& status);

// How every verb calls: a service that is being restarted is waited for.
bus::CallOptions Patient(absl::Duration timeout = absl::ZeroDuration());

// Takes a line about an outage (without its end) of what is followed; on the thread that follows.
// Unset: it goes to stderr. (For a screen on which other threads write too.)
using Say = std::function<void(const std::string& line)>;

// Follows a trial until it has ended, over restarts of any service: `on_part` gets each row once.
// The yard is started again if it is wanted; an interruption is said once. Unavailable
// if the yard was taken down meanwhile, DeadlineExceeded after `timeout`. `on_part` returns false
// to end early (Cancelled).
absl::StatusOr<msg::TrialT> FollowTrial(
    Context& context, const std::string& trial, std::uint64_t from_row, absl::Duration timeout,
    const std::function<bool(const msg::FollowTrialReplyT& part)>& on_part, const Say& say = {});

// Note for a person who follows a trial: how the trial goes on, once each time that it is paused.
class PauseNote {
 public:
  // "" if there is nothing to say of what has come; else a line without its end.
  std::string Take(const msg::FollowTrialReplyT& part);

 private:
  bool was_paused_ = false;
};

// As FollowTrial, a sweep until it has ended: `on_part` gets it and its trials that have changed
// since event `from_event`.
absl::StatusOr<msg::SweepT> FollowSweep(
    Context& context, const std::string& sweep, std::uint64_t from_event, absl::Duration timeout,
    const std::function<bool(const msg::FollowSweepReplyT& part)>& on_part, const Say& say = {});

// As FollowTrial, a job until it has ended. `on_part` gets the job now and at each change of its
// state and of why it waits; if it answers false, the result is CANCELLED.
absl::StatusOr<msg::JobT> FollowJob(Context& context, const std::string& job,
                                    absl::Duration timeout, const Say& say = {},
                                    const std::function<bool(const msg::JobT& job)>& on_part = {});

// The same for output: `on_part` gets each byte of each stream of each task once, and with
// `follow` that of all attempts from the current ones on. Ends when the job has ended.
absl::Status FollowLogs(Context& context, msg::LogsRequestT request,
                        const std::function<bool(const msg::LogsReplyT& part)>& on_part,
                        const Say& say = {});

using bus::StateName;
bool HasEnded(msg::TrialState state);
bool HasEnded(msg::SweepState state);
// Such a trial of a sweep does nothing more unless somebody asks for it.
bool HasEnded(msg::SweepStage stage);
bool HasEnded(msg::TaskState state);
// True for the job of a trial, which tells of it.
bool IsOfTrial(const msg::JobT& job);

}  // namespace yard

#endif  // TOOLS_YARD_FOLLOW_FOLLOW_H_
