#include "trainer/trial/trial_transitions.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "bus/call/call_retry.h"
#include "runtime/text/random_id.h"

namespace trainer {
namespace {

using msg::TrialState;

constexpr absl::Duration kFirstRestartDelay = absl::Milliseconds(100);
constexpr absl::Duration kLongestRestartDelay = absl::Seconds(30);

Outcome Ended(TrialState state, AttemptEnd end) {
  return {Outcome::Next::kEnd, state, std::move(end)};
}

}  // namespace

bool Waits(const TrialRecord& record) {
  return record.state == TrialState::Pending && !record.launching;
}

bool IsToPause(const TrialRecord& record) {
  return record.pause_requested || record.state == TrialState::Paused;
}

bool IsToLeave(const TrialRecord& record, bool said_done) {
  return record.stop_requested || record.pause_requested || record.is_to_end() || said_done;
}

std::string StateWords(const TrialRecord& record) {
  if (HasEnded(record)) {
    return absl::StrCat("has ended (", msg::EnumNameTrialState(record.state), ")");
  }
  if (record.stop_requested) return "is stopping";
  if (record.pause_requested) return "is about to pause";
  if (record.state == TrialState::Paused) return "is paused";
  return record.state == TrialState::Pending ? "waits for its start" : "runs";
}

absl::Duration GraceOf(const TrialRecord& record) {
  return absl::Milliseconds(record.stop_requested ? record.stop_grace_ms
                                                  : record.spec.stop_grace_ms);
}

std::string WhyItIsStopped(const TrialRecord& record, bool said_done) {
  if (!record.criterion.empty()) return record.criterion;
  if (record.expelled) return record.failure;
  if (said_done) return "the trial has said that it is done";
  return record.stop_requested ? "the trial was asked to stop" : "the trial was asked to pause";
}

bool OrderStop(TrialRecord& record, absl::Duration grace, std::int64_t now_us,
               const std::string& why) {
  record.stop_requested = true;
  record.pause_requested = false;
  record.stop_grace_ms =
      grace > absl::ZeroDuration() ? absl::ToInt64Milliseconds(grace) : record.spec.stop_grace_ms;
  if (Waits(record) || record.state == TrialState::Paused) {
    record.state = TrialState::Stopped;
    record.reason = record.started_us == 0 ? "stopped before it started" : "it was asked to stop";
    if (!why.empty()) record.reason = why;
    record.ended_us = now_us;
    return true;
  }
  if (record.state == TrialState::Running) record.state = TrialState::Stopping;
  record.reason = why;
  return false;
}

void OrderPause(TrialRecord& record, std::string why) {
  if (Waits(record)) {
    record.state = TrialState::Paused;
  } else {
    record.pause_requested = true;
    record.stop_grace_ms = record.spec.stop_grace_ms;
  }
  record.reason = std::move(why);
}

bool OrderResume(TrialRecord& record) {
  // An attempt that waited only was never begun.
  const bool was_begun =
      record.launching || !record.job.empty() || record.state == TrialState::Failed;
  if (was_begun) MakeNextAttempt(record);
  record.state = TrialState::Pending;
  record.stop_requested = record.pause_requested = false;
  record.criterion.clear();
  record.failures = 0;
  record.ended_us = 0;
  record.error_lines.clear();
  record.reason.clear();
  return was_begun;
}

void MakeNextAttempt(TrialRecord& record) {
  ++record.attempt;
  record.nonce = runtime::RandomHex128();
  record.job_request_id = runtime::RandomHex128();
  record.launching = false;
  record.job.clear();
  record.failure.clear();
  record.expelled = false;
}

Outcome AfterAttempt(const TrialRecord& record, bool said_done, AttemptEnd end) {
  if (!record.failure.empty()) {
    // How one ended that was told to end says nothing.
    const bool says_nothing = end.success || record.expelled;
    end.reason =
        says_nothing ? record.failure : absl::StrCat(record.failure, " (", end.reason, ")");
    end.success = false;
  }
  if (!record.criterion.empty()) return Ended(TrialState::Done, {true, record.criterion, {}});
  if (record.stop_requested) {
    end.reason = record.reason.empty() ? "it was asked to stop" : record.reason;
    return Ended(TrialState::Stopped, std::move(end));
  }
  if (said_done) {
    const std::string then =
        end.success ? "" : absl::StrCat("it had said that it is done; then: ", end.reason);
    return Ended(TrialState::Done, {true, then, {}});
  }
  if (record.pause_requested) return {Outcome::Next::kPause, TrialState::Paused, std::move(end)};
  if (end.success) return Ended(TrialState::Done, std::move(end));
  if (record.failures < record.spec.max_restarts && !end.was_refused) {
    return {Outcome::Next::kAttempt, TrialState::Pending, std::move(end)};
  }
  return Ended(TrialState::Failed, std::move(end));
}

absl::Duration RestartDelay(int quick_failures) {
  if (quick_failures <= 1) return absl::ZeroDuration();
  return bus::GrowingPause(quick_failures - 1, kFirstRestartDelay, kLongestRestartDelay);
}

bool IsOfGroup(const TrialRecord& record, const TrialRecord& other) {
  return record.number != other.number && !record.spec.options.group.empty() &&
         record.spec.options.group == other.spec.options.group;
}

std::string WhyAGroupIsPaused(const std::string& failed) {
  return absl::StrCat("paused: ", failed, " of its group has failed");
}

}  // namespace trainer
