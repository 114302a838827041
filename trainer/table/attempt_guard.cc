#include "trainer/table/attempt_guard.h"

#include <sys/types.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "glog/logging.h"
#include "runtime/process/process_stacks.h"
#include "trainer/attempt/attempt_watch.h"
#include "trainer/attempt/trial_cluster.h"
#include "trainer/report/line_receiver.h"
#include "trainer/trial/trial_state.h"

namespace trainer {
namespace {

// Longest time to take the stacks of a silent attempt before it is stopped without them, and their
// greatest size in bytes.
constexpr absl::Duration kStacksTime = absl::Seconds(4);
constexpr std::size_t kMostStacks = 64 << 10;

std::string StacksOfAll(const std::vector<pid_t>& leaders, const std::string& mark) {
  runtime::StacksOptions options;
  options.answer_timeout = absl::Milliseconds(500);
  options.native_timeout = absl::ZeroDuration();
  options.total_timeout = kStacksTime / 2;
  return runtime::StacksTextOfTasks(leaders, mark, kMostStacks, options);
}

}  // namespace

void AttemptGuard::Begin(Trial& trial) {
  trial.last_heard = options_.clock->Monotonic();
  Watch(trial);
  WatchRunTime(trial);
}

void AttemptGuard::End(Trial& trial) {
  trial.watch_timer.Cancel();
  trial.stacks_timer.Cancel();
  trial.asks_for_node = trial.node_was_away = false;
}

// Ends a trial whose time budget is used up and an attempt that is silent; otherwise schedules the
// next check.
void AttemptGuard::Watch(Trial& trial) {
  trial.watch_timer.Cancel();
  const TrialRecord& record = trial.record;
  if (IsToLeave(trial) || WaitsForResources(record)) return;
  const absl::Duration now = options_.clock->Monotonic();
  // The program waits for an answer of ours, so it is not silent.
  const bool is_held = trial.reports->saves() || !options_.room_waits->WhyOf(record.number).empty();
  if (is_held) trial.last_heard = now;
  const bool may_speak = trial.runner == nullptr || !trial.runner->nobody_reports();
  AttemptTimes times;
  times.budget = trial.reports->criteria().time_budget();
  times.used = absl::Microseconds(record.earlier_attempts_us) +
               (now - trial.attempt.running_since.value_or(now));
  if (may_speak) times.heartbeat = absl::Milliseconds(record.spec.options.heartbeat_ms);
  times.silent = now - trial.last_heard;
  const AttemptWatch watch = LookAt(times);
  if (watch.verdict == AttemptWatch::Verdict::kBudgetIsUsedUp) {
    return options_.happened(trial,
                             event::BudgetUsedUp{trial.reports->criteria().TimeBudgetWords()});
  }
  if (watch.verdict == AttemptWatch::Verdict::kIsSilent) return OnSilence(trial);
  const absl::Duration wait = watch.look_after;
  if (wait == absl::InfiniteDuration()) return;
  const std::int64_t number = record.number;
  trial.watch_timer.Start(options_.loop, wait, [this, number, due = now + wait] {
    Trial& watched = options_.table->At(number);
    // If this process was held up, lines from the program were delayed too: restart the heartbeat
    // time.
    const absl::Duration then = options_.clock->Monotonic();
    const absl::Duration held_up = then - due;
    const auto& options = watched.record.spec.options;
    if (held_up > absl::Milliseconds(options.heartbeat_ms) / 20) watched.last_heard = then;
    Watch(watched);
  });
}

void AttemptGuard::OnSilence(Trial& trial) {
  if (trial.node.empty() || !options_.usage) return options_.happened(trial, event::Silent{});
  if (std::exchange(trial.asks_for_node, true)) return;
  const AttemptKey attempt{trial.record.number, trial.record.attempt};
  options_.usage([this, attempt, heard = trial.last_heard,
                  alive = alive_](const absl::StatusOr<msg::UsageReplyT>& usage) {
    Trial* const asked = *alive ? options_.table->AtHand(attempt.trial) : nullptr;
    if (asked == nullptr || asked->record.attempt != attempt.attempt) return;
    if (std::exchange(asked->asks_for_node, false)) OnUsage(*asked, heard, usage);
  });
}

// `heard` is when the attempt was last heard of before the question.
void AttemptGuard::OnUsage(Trial& trial, absl::Duration heard,
                           const absl::StatusOr<msg::UsageReplyT>& usage) {
  const std::string reporter =
      absl::StrCat(trial.record.job, "/", ReporterName(trial.record.spec.options));
  const bool answers =
      usage.ok() && std::any_of(usage->tasks.begin(), usage->tasks.end(),
                                [&](const auto& task) { return task->task == reporter; });
  const bool was_away = std::exchange(trial.node_was_away, !answers);
  const bool has_spoken = trial.last_heard != heard;
  if (answers && !was_away && !has_spoken) return options_.happened(trial, event::Silent{});
  if (!has_spoken) trial.last_heard = options_.clock->Monotonic();
  Watch(trial);
}

// The launcher kills an attempt that runs for too long, so its stacks are taken shortly before.
void AttemptGuard::WatchRunTime(Trial& trial) {
  trial.stacks_timer.Cancel();
  const auto limit =
      absl::Milliseconds(static_cast<std::int64_t>(trial.record.spec.options.max_run_time_ms));
  if (limit == absl::ZeroDuration() || !trial.attempt.running_since) return;
  const absl::Duration lead = std::min(kStacksTime / 2, limit / 4);
  const absl::Duration ran = options_.clock->Monotonic() - *trial.attempt.running_since;
  if (ran > limit - lead) return;
  trial.stacks_timer.Start(
      options_.loop, limit - lead - ran, [this, number = trial.record.number, limit] {
        Trial& late = options_.table->At(number);
        if (!options_.background || late.leaders.empty() || IsToLeave(late)) return;
        const std::string why =
            absl::StrCat("its time of ", absl::FormatDuration(limit), " is over");
        TakeStacks(late, [this, why](const Trial& trial, const std::string& stacks) {
          KeepStacks(trial, why, stacks);
        });
      });
}

// Passes the stacks of the attempt's processes to `done`, if the attempt is still the current one.
void AttemptGuard::TakeStacks(const Trial& trial,
                              std::function<void(Trial&, const std::string&)> done) {
  const AttemptKey attempt{trial.record.number, trial.record.attempt};
  const auto stacks = std::make_shared<std::string>();
  options_.background(
      [stacks, leaders = trial.leaders, mark = "YARD_TRIAL_ID=" + trial.record.id()] {
        *stacks = StacksOfAll(leaders, mark);
      },
      [this, attempt, stacks, done = std::move(done)] {
        Trial* const there = options_.table->AtHand(attempt.trial);
        if (there == nullptr || there->record.attempt != attempt.attempt) return;
        done(*there, *stacks);
      });
}

// Logs the stacks of the attempt's processes, then stops it; within kStacksTime.
void AttemptGuard::TakeStacksAndStop(Trial& trial) {
  if (!options_.background || trial.leaders.empty())
    return options_.happened(trial, event::StopDue{});
  const AttemptKey attempt{trial.record.number, trial.record.attempt};
  const auto is_stopped = std::make_shared<bool>(false);
  TakeStacks(trial, [this, is_stopped](Trial& silent, const std::string& stacks) {
    KeepStacks(silent, silent.record.failure, stacks);
    if (!std::exchange(*is_stopped, true)) options_.happened(silent, event::StopDue{});
  });
  options_.loop->RunAfter(kStacksTime, [this, attempt, is_stopped, alive = alive_] {
    Trial* const silent = *alive ? options_.table->AtHand(attempt.trial) : nullptr;
    if (silent == nullptr || silent->record.attempt != attempt.attempt) return;
    if (!std::exchange(*is_stopped, true)) options_.happened(*silent, event::StopDue{});
  });
}

void AttemptGuard::KeepStacks(const Trial& trial, const std::string& why,
                              const std::string& stacks) {
  if (stacks.empty()) return;
  StoreBatch batch;
  batch.logs.push_back({trial.record.number, absl::ToUnixMicros(options_.clock->Now()),
                        absl::StrCat("yard: ", why, "; it was here:\n", stacks)});
  const absl::Status stored = options_.store->Write(batch);
  LOG_IF(ERROR, !stored.ok()) << stored;
}

}  // namespace trainer
