#include "trainer/trial/trial_state.h"

#include "absl/strings/str_cat.h"

namespace trainer {

using msg::TrialState;

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

std::string WhyOver(const TrialRecord& record) {
  return absl::StrCat("trial ", record.id(), " ", StateWords(record),
                      record.reason.empty() ? "" : ": ", record.reason);
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

bool MarkStop(TrialRecord& record, absl::Duration grace, std::int64_t now_us,
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

void MarkPause(TrialRecord& record, const std::string& why) {
  if (Waits(record)) {
    record.state = TrialState::Paused;
  } else {
    record.pause_requested = true;
    record.stop_grace_ms = record.spec.stop_grace_ms;
  }
  record.reason = why;
}

bool MarkAsJudged(TrialRecord& record, const Verdict& verdict) {
  const bool leaves = record.stop_requested || IsToPause(record) || HasEnded(record);
  if (verdict.kind == Verdict::Kind::kContinue || leaves) return false;
  if (verdict.kind == Verdict::Kind::kStop) {
    MarkStop(record, absl::ZeroDuration(), 0, verdict.reason);
  } else {
    MarkPause(record, verdict.reason);
  }
  return true;
}

bool IsOfGroup(const TrialRecord& record, const TrialRecord& other) {
  return record.number != other.number && !record.spec.options.group.empty() &&
         record.spec.options.group == other.spec.options.group;
}

std::string WhyAGroupIsPaused(const std::string& failed) {
  return absl::StrCat("paused: ", failed, " of its group has failed");
}

}  // namespace trainer
