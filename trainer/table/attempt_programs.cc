#include "trainer/table/attempt_programs.h"

#include <sys/types.h>

#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "trainer/attempt/refusal.h"
#include "trainer/attempt/trial_resources.h"
#include "trainer/function/function_main.h"
#include "trainer/trial/trial_output.h"
#include "trainer/trial/trial_state.h"

namespace trainer {
namespace {

// Returns the main processes of its tasks that run on this host.
std::vector<pid_t> LeadersOf(const msg::JobT& job) {
  std::vector<pid_t> leaders;
  for (const auto& task : job.tasks) {
    // (The task of a node has no process here.)
    const bool runs = !task->attempts.empty() && task->attempts.back()->ended_us == 0 &&
                      task->attempts.back()->node.empty();
    if (runs && task->attempts.back()->pid > 0) leaders.push_back(task->attempts.back()->pid);
  }
  return leaders;
}

}  // namespace

void AttemptPrograms::Launch(Trial& trial) {
  MakeRunner(trial);
  options_.queue->AddUsed(1);
  trial.errors_before.reset();
  if (!trial.attempt.launch_in_doubt) trial.errors_before = ErrorSizesOf(trial.record);
  msg::JobSpecT job = JobSpecFor(trial.record, options_.relay);
  const msg::TrialOptionsT& asked = trial.record.spec.options;
  if (!asked.function.empty()) {
    // Uses the function's current program, which may be newer than that of the previous attempt.
    job.argv = FunctionCommand(options_.executable, asked.function,
                               absl::Milliseconds(asked.heartbeat_ms));
  }
  trial.runner->Launch(trial.record.job_request_id, job);
}

void AttemptPrograms::Follow(Trial& trial) {
  MakeRunner(trial);
  trial.runner->TakeUp(trial.record.job);
  options_.intake->FollowOutput(trial);
}

void AttemptPrograms::MakeRunner(Trial& trial) {
  const std::int64_t number = trial.record.number;
  TrialTable* const table = options_.table;
  const auto& limits = trial.record.spec.options.control_limits;
  trial.runner = ProgramRunner::Create(
      {.loop = options_.loop,
       .jobs = options_.jobs,
       .trace = trial.record.trace,
       .last_reports = absl::Seconds(ReportsByOutput(trial.record) ? 0 : 2),
       .memory_limit = limits == nullptr ? 0 : limits->memory_bytes,
       .on_launched =
           [this, table, number](absl::StatusOr<std::string> job) {
             OnLaunched(table->At(number), std::move(job));
           },
       .on_changed = [this, table,
                      number](const msg::JobT& job) { OnJobChanged(table->At(number), job); },
       .on_ended = [this, table,
                    number](ProgramEnd end) { OnEnded(table->At(number), std::move(end)); }});
}

void AttemptPrograms::OnLaunched(Trial& trial, absl::StatusOr<std::string> job) {
  if (options_.fault) options_.fault("after launch");
  if (!job.ok() && MayTryAgain(job.status())) return OnNoRoom(trial, job.status());
  options_.queue->OnAnswered();
  if (!job.ok()) {
    ProgramEnd end;
    end.reason = absl::StrCat("cannot start: ", job.status().message());
    end.was_refused = true;
    return OnEnded(trial, std::move(end));
  }
  options_.happened(trial, event::LaunchAnswered{*std::move(job)});
  options_.intake->FollowOutput(trial);
  options_.queue->StartNext();
}

// The launcher refused for now. The trial waits again, first in the queue as before.
void AttemptPrograms::OnNoRoom(Trial& trial, const absl::Status& status) {
  options_.queue->OnRefused();
  options_.queue->AddUsed(-1);
  options_.happened(
      trial, event::LaunchRefused{std::string(status.message()), absl::IsUnavailable(status)});
}

// The launcher grants the resources that the tasks asked for, or says why not yet.
void AttemptPrograms::OnJobChanged(Trial& trial, const msg::JobT& job) {
  trial.leaders = LeadersOf(job);
  const std::string node = job.tasks.empty() ? "" : job.tasks.front()->node;
  if (std::exchange(trial.node, node) != node) options_.news->Announce(trial);
  if (!WaitsForResources(trial.record)) return;
  if (const auto started_us = StartOf(job)) {
    const std::int64_t since_us =
        *started_us == 0 ? absl::ToUnixMicros(options_.clock->Now()) : *started_us;
    return options_.happened(trial, event::ResourcesGranted{since_us});
  }
  const auto trial_of = [this](const std::string& id) { return TrialOf(id); };
  options_.happened(trial, event::JobWaits{WhyJobWaits(job, trial_of)});
}

const TrialRecord* AttemptPrograms::TrialOf(const std::string& job) const {
  for (const auto& [number, trial] : options_.table->at_hand()) {
    if (trial.record.job == job && !HasEnded(trial.record)) return &trial.record;
  }
  return nullptr;
}

void AttemptPrograms::Stop(Trial& trial, const action::SendStop& stop) {
  if (trial.output != nullptr) GiveUpOutputAfter(trial, stop.grace);
  trial.runner->Stop(stop.grace, stop.why,
                     trial.stop_trace.empty() ? trial.record.trace : trial.stop_trace);
}

void AttemptPrograms::GiveUpOutputAfter(Trial& trial, absl::Duration grace) {
  trial.stop_timer.Start(options_.loop, grace, [this, number = trial.record.number] {
    const Trial& late = options_.table->At(number);
    if (late.output != nullptr) late.output->GiveUp();
  });
}

void AttemptPrograms::OnEnded(Trial& trial, ProgramEnd end) {
  if (trial.output != nullptr) {
    const bool waits_for_ever = IsToLeave(trial) && !trial.stop_timer.is_set();
    if (waits_for_ever) GiveUpOutputAfter(trial, GraceOf(trial.record));
    // The end waits until the output that the attempt has written is taken.
    return trial.output->Finish(
        [this, number = trial.record.number, end = std::move(end)](bool took_all) {
          Trial& ended = options_.table->At(number);
          ended.output.reset();
          ended.lost_output =
              took_all ? 0 : OutputBehind(ended.record, ended.reports->progress().last_line);
          OnEnded(ended, end);
        });
  }
  if (trial.reports->saves()) {
    trial.end = std::move(end);
    return;
  }
  if (trial.record.attempt == 1 && !trial.errors_before) trial.errors_before.emplace();
  const bool may_have_failed = !end.success || !trial.record.failure.empty();
  if (may_have_failed && end.error_lines.empty() && trial.errors_before) {
    end.error_lines = LastErrorLines(end, *trial.errors_before);
  }
  options_.happened(trial, event::AttemptEnded{std::move(end)});
}

void AttemptPrograms::OnCheckpointRead(std::int64_t number) {
  Trial* const trial = options_.table->AtHand(number);
  if (trial == nullptr || !trial->end) return;
  ProgramEnd end = *std::exchange(trial->end, std::nullopt);
  OnEnded(*trial, std::move(end));
}

}  // namespace trainer
