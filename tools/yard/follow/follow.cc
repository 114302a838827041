#include "tools/yard/follow/follow.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "bus/schema/launcher_methods.h"
#include "bus/schema/trainer_methods.h"
#include "runtime/mutex.h"
#include "runtime/text/nearest_word.h"
#include "tools/yard/follow/live_names.h"
#include "tools/yard/follow/log_positions.h"
#include "tools/yard/services/service_start.h"
#include "tools/yard/text/plain_numbers.h"

namespace yard {
namespace {

constexpr absl::Duration kNames = absl::Seconds(1);  // Timeout for suggestions of similar names.
constexpr absl::Duration kPause = absl::Milliseconds(100);
// A yard that is neither wanted nor running for this long was taken down.
constexpr absl::Duration kGone = absl::Seconds(5);

// Returns true if a broken stream is worth a retry.
bool Broke(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsAborted(status) || absl::IsDataLoss(status);
}

// Handles the outages of a followed service, one after another.
class Outage {
 public:
  Outage(Context& context, absl::Duration timeout, const Say& say)
      : context_(context), say_(say), deadline_(context.clock->Monotonic() + timeout) {
    if (!say_) say_ = [&context](const std::string& line) { *context.err << line << "\n"; };
  }

  absl::Duration Left() const { return deadline_ - context_.clock->Monotonic(); }
  void Over() { since_ = absl::InfiniteDuration(); }

  // Call after a stream has broken: reports the outage once, starts the yard if needed, and waits
  // briefly. Returns an error if retrying is pointless.
  absl::Status Next(const char* what, const absl::Status& why) {
    const absl::Duration now = context_.clock->Monotonic();
    if (since_ == absl::InfiniteDuration()) {
      since_ = now;
      say_(absl::StrCat("yard: the ", what, " is not there for the moment; waiting for it"));
    }
    if (now >= deadline_) return absl::DeadlineExceededError(std::string(why.message()));
    const absl::Status ensured = EnsureYard(context_, say_);
    if (!ensured.ok() && now - since_ > kGone) return ensured;
    runtime::MutexLock lock(mutex_);
    context_.clock->WaitUntil(never_, mutex_, now + kPause);
    return absl::OkStatus();
  }

 private:
  Context& context_;
  Say say_;
  const absl::Duration deadline_;
  absl::Duration since_ = absl::InfiniteDuration();
  runtime::Mutex mutex_;
  runtime::CondVar never_;
};

bus::CallOptions Within(absl::Duration left) {
  return {.timeout = left == absl::InfiniteDuration() ? absl::ZeroDuration()
                                                      : std::max(left, absl::Milliseconds(1))};
}

absl::StatusOr<msg::TrialT> FindTrial(bus::Client& client, const std::string& name) {
  msg::TrialsRequestT request;
  request.trial = name;
  auto reply = client.Call<rpc::Trainer::Trials>(request, Patient());
  if (!reply.ok()) return reply.status();
  if (reply->trials.empty()) return absl::NotFoundError(absl::StrCat("no trial ", name));
  return *reply->trials.front();
}

absl::StatusOr<msg::SweepT> FindSweep(bus::Client& client, const std::string& name) {
  msg::SweepsRequestT request;
  request.sweep = name;
  auto reply = client.Call<rpc::Trainer::Sweeps>(request, Patient());
  // An older trainer has no sweeps.
  if (absl::IsUnimplemented(reply.status())) return absl::NotFoundError("no sweeps");
  if (!reply.ok()) return reply.status();
  if (reply->sweeps.empty()) return absl::NotFoundError(absl::StrCat("no sweep ", name));
  return std::move(*reply->sweeps.front());
}

absl::StatusOr<msg::JobT> FindJob(bus::Client& client, const std::string& name) {
  msg::JobsRequestT request;
  request.job = name;
  auto reply = client.Call<rpc::Launcher::Jobs>(request, Patient());
  if (!reply.ok()) return reply.status();
  if (reply->jobs.empty()) return absl::NotFoundError(absl::StrCat("no job ", name));
  return *reply->jobs.front();
}

}  // namespace

absl::Status AsLookup(const absl::Status& status) {
  return absl::IsFailedPrecondition(status) ? absl::NotFoundError(status.message()) : status;
}

bus::CallOptions Patient(absl::Duration timeout) {
  return {.timeout = timeout, .wait_for_service = true};
}

namespace {

template <typename T>
absl::StatusOr<Thing> AsThing(absl::StatusOr<T> found, std::optional<T> Thing::*member) {
  if (!found.ok()) return found.status();
  Thing thing;
  thing.*member = *std::move(found);
  return thing;
}

bool IsLive(const Thing& thing) {
  return thing.trial   ? !HasEnded(thing.trial->state)
         : thing.sweep ? !HasEnded(thing.sweep->state)
                       : !HasEnded(thing.job->state);
}

// Looks up one kind of thing; ignores the task part of a job's name.
absl::StatusOr<Thing> FindOfKind(bus::Client& client, const std::string& name, char kind) {
  if (kind == 't') return AsThing(FindTrial(client, name), &Thing::trial);
  if (kind == 's') return AsThing(FindSweep(client, name), &Thing::sweep);
  const bool is_id = absl::StartsWith(name, "j-");
  return AsThing(FindJob(client, is_id ? name.substr(0, name.find('/')) : name), &Thing::job);
}

// Defines the meaning of a name: the first live thing that has it, in the order trial, sweep, job;
// else the first ended one.
absl::StatusOr<Thing> FindThingCalled(Context& context, const std::string& name, Prefer prefer) {
  auto client = context.client();
  if (!client.ok()) return client.status();
  std::optional<Thing> ended;
  for (const char kind : std::string_view(absl::StartsWith(name, "j-") ? "j" : "tsj")) {
    auto thing = FindOfKind(**client, name, kind);
    if (thing.ok() && (prefer == Prefer::kTrial || IsLive(*thing))) return thing;
    if (thing.ok() && !ended) ended = *std::move(thing);
    // Once something was found, an unavailable service is no error.
    if (!thing.ok() && !absl::IsNotFound(thing.status()) && !ended) {
      return AsLookup(thing.status());
    }
  }
  if (ended) return *std::move(ended);
  return absl::NotFoundError(
      absl::StrCat("no trial, sweep or job ", name, "; `yard ps --all` lists them"));
}

}  // namespace

absl::StatusOr<Thing> FindThing(Context& context, const std::string& name, Prefer prefer) {
  auto thing = FindThingCalled(context, name, prefer);
  auto client = context.client();
  if (!absl::IsNotFound(thing.status()) || !client.ok()) return thing;
  std::vector<std::string> names;
  for (const msg::NameT& known :
       LiveNames(**client, {"trial", "sweep", "job", "run"}, "", "", kNames)) {
    // The name may contain a number that was typed in another spelling.
    const bool is_other = known.name != name && known.kind != "run";
    if (is_other && WithPlainNumbers(known.name) == WithPlainNumbers(name)) {
      auto same = FindThingCalled(context, known.name, prefer);
      if (same.ok()) return same;
    }
    names.push_back(known.name);
  }
  const std::vector<std::string_view> views(names.begin(), names.end());
  const std::string nearest(runtime::NearestWord(name, views));
  if (nearest.empty() || nearest == name) return thing;
  return absl::NotFoundError(
      absl::StrCat("no trial, sweep or job ", name, "; did you mean ", nearest, "?"));
}

absl::StatusOr<msg::TrialT> FollowTrial(
    Context& context, const std::string& trial, std::uint64_t from_row, absl::Duration timeout,
    const std::function<bool(const msg::FollowTrialReplyT& part)>& on_part, const Say& say) {
  auto client = context.client();
  if (!client.ok()) return client.status();
  Outage outage(context, timeout, say);
  msg::FollowTrialRequestT request;
  request.trial = trial;
  request.from_row = from_row;
  const auto take = [&](const msg::FollowTrialReplyT& part) {
    outage.Over();
    const bool go_on = on_part(part);
    if (!part.rows.empty()) request.from_row = part.rows.back()->row;
    return go_on;
  };
  for (;;) {
    auto end = (*client)->Stream<rpc::Trainer::FollowTrial>(request, take, Within(outage.Left()));
    if (end.ok()) {
      if (end->trial == nullptr) return absl::InternalError("the trainer sent no trial");
      (void)take(*end);
      return std::move(*end->trial);
    }
    if (!Broke(end.status())) return AsLookup(end.status());
    if (absl::Status next = outage.Next("trainer", end.status()); !next.ok()) return next;
  }
}

std::string PauseNote::Take(const msg::FollowTrialReplyT& part) {
  if (part.trial == nullptr) return "";
  const msg::TrialT& trial = *part.trial;
  const bool is_paused = trial.state == msg::TrialState::Paused;
  const bool is_new = is_paused && !was_paused_;
  was_paused_ = is_paused;
  if (!is_new) return "";
  return absl::StrCat(trial.id, " is paused; yard resume ", trial.id, " lets it go on");
}

absl::StatusOr<msg::SweepT> FollowSweep(
    Context& context, const std::string& sweep, std::uint64_t from_event, absl::Duration timeout,
    const std::function<bool(const msg::FollowSweepReplyT& part)>& on_part, const Say& say) {
  auto client = context.client();
  if (!client.ok()) return client.status();
  Outage outage(context, timeout, say);
  msg::FollowSweepRequestT request;
  request.sweep = sweep;
  request.from_event = from_event;
  const auto take = [&](const msg::FollowSweepReplyT& part) {
    outage.Over();
    const bool go_on = on_part(part);
    if (part.sweep != nullptr) request.from_event = part.sweep->events;
    return go_on;
  };
  for (;;) {
    auto end = (*client)->Stream<rpc::Trainer::FollowSweep>(request, take, Within(outage.Left()));
    if (end.ok()) {
      if (end->sweep == nullptr) return absl::InternalError("the trainer sent no sweep");
      (void)take(*end);
      return std::move(*end->sweep);
    }
    if (!Broke(end.status())) return AsLookup(end.status());
    if (absl::Status next = outage.Next("trainer", end.status()); !next.ok()) return next;
  }
}

absl::StatusOr<msg::JobT> FollowJob(Context& context, const std::string& job,
                                    absl::Duration timeout, const Say& say,
                                    const std::function<bool(const msg::JobT& job)>& on_part) {
  auto client = context.client();
  if (!client.ok()) return client.status();
  Outage outage(context, timeout, say);
  msg::WaitJobRequestT request;
  request.job = job;
  for (;;) {
    auto end = (*client)->Stream<rpc::Launcher::WaitJob>(
        request,
        [&](const msg::WaitJobReplyT& part) {
          outage.Over();
          return !on_part || part.job == nullptr || on_part(*part.job);
        },
        Within(outage.Left()));
    if (end.ok()) {
      if (end->job == nullptr) return absl::InternalError("the launcher sent no job");
      return std::move(*end->job);
    }
    if (!Broke(end.status())) return AsLookup(end.status());
    if (absl::Status next = outage.Next("launcher", end.status()); !next.ok()) return next;
  }
}

absl::Status FollowLogs(Context& context, msg::LogsRequestT request,
                        const std::function<bool(const msg::LogsReplyT& part)>& on_part,
                        const Say& say) {
  auto client = context.client();
  if (!client.ok()) return client.status();
  Outage outage(context, absl::InfiniteDuration(), say);
  LogPositions positions;
  bool some = false;
  const auto give = [&](const msg::LogsReplyT& part) {
    const std::size_t known = positions.Take(part);
    if (known == part.data.size()) return true;
    some = true;
    if (known == 0) return on_part(part);
    msg::LogsReplyT rest = part;
    rest.offset += known;
    rest.data.erase(rest.data.begin(), rest.data.begin() + static_cast<std::ptrdiff_t>(known));
    return on_part(rest);
  };
  const auto take = [&](const msg::LogsReplyT& part) {
    outage.Over();
    for (msg::LogsRequestT& missed : positions.Missed(part)) {
      missed.errors_only = request.errors_only;
      // Output that the launcher has deleted meanwhile is skipped.
      (void)(*client)->Stream<rpc::Launcher::Logs>(missed, give, {});
    }
    return give(part);
  };
  for (;;) {
    auto end = (*client)->Stream<rpc::Launcher::Logs>(request, take, {});
    if (end.ok()) {
      (void)take(*end);
      return absl::OkStatus();
    }
    if (!Broke(end.status())) return AsLookup(end.status());
    positions.Broke();
    // The requested last lines are known by offset now, so the new stream starts from there.
    if (some) request.last_lines = -1;
    if (absl::Status next = outage.Next("launcher", end.status()); !next.ok()) return next;
  }
}

namespace {

absl::Status IsSweep(const std::string& name, const std::string& what) {
  return absl::FailedPreconditionError(absl::StrCat(name, " is a sweep: ", what));
}

}  // namespace

absl::StatusOr<std::string> FindJobOrTask(Context& context, const std::string& name) {
  const std::string job = name.substr(0, name.find('/'));
  auto thing = FindThing(context, job);
  if (!thing.ok()) return thing.status();
  if (thing->sweep) return IsSweep(name, "yard show names its trials");
  if (thing->trial.has_value() && thing->trial->attached_pid != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(name, " is of process ", thing->trial->attached_pid,
                     ", which has attached itself: the launcher has no task of it"));
  }
  const std::string& id = thing->trial.has_value() ? thing->trial->job : thing->job->id;
  if (id.empty()) return absl::NotFoundError(absl::StrCat(name, " has not started yet"));
  return id + name.substr(job.size());
}

absl::StatusOr<std::string> FindOwnJob(Context& context, const std::string& name,
                                       const std::string& why_not) {
  const std::string job = name.substr(0, name.find('/'));
  auto thing = FindThing(context, job);
  if (!thing.ok()) return thing.status();
  if (thing->trial.has_value() && HasEnded(thing->trial->state)) {
    // The ended trial may hide an ended job of the same name, which is meant here.
    auto client = context.client();
    if (!client.ok()) return client.status();
    if (auto ended = FindJob(**client, job); ended.ok()) {
      thing = Thing{.job = *std::move(ended)};
    }
  }
  if (thing->sweep) return IsSweep(name, absl::StrCat("the trainer ", why_not));
  if (thing->trial.has_value()) {
    return absl::FailedPreconditionError(absl::StrCat(name, " is a trial: the trainer ", why_not));
  }
  return thing->job->id + name.substr(job.size());
}

absl::StatusOr<std::string> FindTrial(Context& context, const std::string& name,
                                      const std::string& what) {
  const auto thing = FindThing(context, name, Prefer::kTrial);
  if (!thing.ok()) return thing.status();
  if (thing->trial.has_value()) return thing->trial->id;
  if (thing->sweep) return IsSweep(name, "only a trial " + what);
  return absl::FailedPreconditionError(absl::StrCat(name, " is a job: only a trial ", what));
}

bool HasEnded(msg::TrialState state) {
  return state >= msg::TrialState::Done && state != msg::TrialState::Paused;
}
bool HasEnded(msg::SweepState state) { return state >= msg::SweepState::Done; }
bool HasEnded(msg::SweepStage stage) { return stage >= msg::SweepStage::Done; }
bool HasEnded(msg::TaskState state) { return state >= msg::TaskState::Exited; }

bool IsOfTrial(const msg::JobT& job) {
  return std::any_of(job.labels.begin(), job.labels.end(),
                     [](const auto& label) { return label->key == "trial"; });
}

}  // namespace yard
