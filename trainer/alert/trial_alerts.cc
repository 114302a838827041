#include "trainer/alert/trial_alerts.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "bus/alert/command_job.h"
#include "bus/call/call_retry.h"
#include "bus/json/trial_and_job_json.h"
#include "glog/logging.h"
#include "runtime/process/process_stacks.h"

// Invariant between two callbacks, once Resume() was called: a stored alert that is not handed on
// is either being handed on or has a timer that retries it. Alerts are handed on one at a time and
// in order: notify a person, launch the command, mark the alert as done.

namespace trainer {
namespace {

constexpr char kFailed[] = "trial_failed";
constexpr std::size_t kMostStacks = 16 << 10;  // Bytes.
constexpr absl::Duration kStacksTime = absl::Seconds(2);
constexpr absl::Duration kFirstPause = absl::Milliseconds(100);
constexpr absl::Duration kLongestPause = absl::Seconds(1);
constexpr int kMostDefects = 60;  // Attempts in about a minute.
// Larger parts of a trial are omitted from the input of its command.
constexpr std::size_t kMostOfAPart = 24 << 10;

// Returns true if retrying would get the same answer.
bool IsFinal(const absl::Status& status) {
  return absl::IsInvalidArgument(status) || absl::IsUnimplemented(status) ||
         absl::IsAlreadyExists(status) || absl::IsPermissionDenied(status);
}

std::string InputOf(const msg::TrialT& trial) {
  nlohmann::json json = bus::ToJson(trial);
  for (const char* const part : {"argv", "metrics", "error_lines", "note"}) {
    if (json[part].dump(-1, ' ', true, nlohmann::json::error_handler_t::replace).size() >
        kMostOfAPart) {
      json[part] = nullptr;
    }
  }
  return json.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

msg::JobSpecT OnEndJob(const msg::TrialT& trial, const std::string& command,
                       std::vector<std::string> environment, const std::string& state_directory) {
  msg::JobSpecT spec = bus::JobOf({.command = command,
                                   .input = InputOf(trial),
                                   .environment = std::move(environment),
                                   .variables = {{"YARD_TRIAL", trial.id},
                                                 {"YARD_TRIAL_NAME", trial.name},
                                                 {"YARD_TRIAL_STATE", bus::StateName(trial.state)},
                                                 {"YARD_RUN_DIR", trial.log_directory},
                                                 {"YARD_STATE", state_directory}},
                                   .working_directory = trial.working_directory});
  spec.name = absl::StrCat("on_end-", trial.id, "-", trial.attempt);
  auto label = std::make_unique<msg::KeyValueT>();
  label->key = "on_end";
  label->value = trial.id;
  spec.labels.push_back(std::move(label));
  return spec;
}

}  // namespace

TrialAlerts::TrialAlerts(Options options) : options_(std::move(options)), rules_(options_.rules) {}

TrialAlerts::~TrialAlerts() {
  options_.store->SetAlertSource(nullptr);
  *alive_ = false;
}

void TrialAlerts::Resume() {
  const auto unseen = options_.alerts->TrialsWith(kFailed);
  LOG_IF(ERROR, !unseen.ok()) << unseen.status();
  if (unseen.ok()) unseen_.insert(unseen->begin(), unseen->end());
  RememberSteps();
  is_resumed_ = true;
  WatchStalls();
  HandOn();
}

// Loads the latest steps of the trials that are already running.
void TrialAlerts::RememberSteps() {
  const absl::Duration now = options_.clock->Monotonic();
  for (const std::int64_t number : rules_.Running()) {
    const auto last = options_.store->LastRow(number);
    if (!last.ok() || last->row == 0) continue;
    const auto first = std::max<std::int64_t>(
        0, last->row - static_cast<std::int64_t>(TrialRules::kStepsRemembered) - 1);
    const auto rows = options_.store->RowsAfter(number, first, TrialRules::kStepsRemembered + 1);
    if (rows.ok()) rules_.Remember(number, *rows, now);
  }
}

// ---- Raising

std::vector<bus::NewAlert> TrialAlerts::AlertsOf(const StoreBatch& batch) {
  return rules_.AlertsOf(batch, absl::ToUnixMicros(options_.clock->Now()));
}

void TrialAlerts::Stored(const StoreBatch& batch, const std::vector<msg::AlertT>& alerts) {
  rules_.Stored(batch, options_.clock->Monotonic());
  for (const msg::AlertT& alert : alerts) Raised(alert);
  if (is_resumed_ && !stall_timer_.is_set()) WatchStalls();
}

void TrialAlerts::Raised(const msg::AlertT& alert) {
  if (alert.kind == kFailed) unseen_.insert(alert.trial);
  // Publish later: the caller is still processing what raised the alert.
  options_.loop->Post(Guard([this, alert] { Tell(alert); }));
  HandOnSoon();
}

void TrialAlerts::Tell(const msg::AlertT& alert) {
  msg::AlertT told = alert;
  told.owner = "trainer";
  options_.publish(told);
}

void TrialAlerts::OnAcknowledged(const std::vector<msg::AlertT>& changed) {
  for (const msg::AlertT& alert : changed) {
    if (alert.kind == kFailed) unseen_.erase(alert.trial);
    Tell(alert);
  }
}

void TrialAlerts::Acknowledge(const std::string& trial) {
  if (!IsUnseen(trial)) return;
  msg::AcknowledgeAlertsRequestT request;
  request.trial = trial;
  const auto done =
      options_.alerts->Acknowledge(request, absl::ToUnixMicros(options_.clock->Now()));
  LOG_IF(ERROR, !done.ok()) << done.status();
  if (done.ok()) OnAcknowledged(done->changed);
}

// ---- Stalls

// A report moves a trial's deadline but not the timer, which checks again when it fires. It also
// fires after the shortest time in which any trial can stall, because a median may have decreased.
void TrialAlerts::WatchStalls() {
  const bool any_runs = !rules_.Running().empty();
  if (stall_timer_.is_set() || !any_runs) return;
  const absl::Duration floor = std::max(options_.rules.stall_floor, absl::Milliseconds(10));
  const absl::Duration wait = rules_.NextStall() - options_.clock->Monotonic();
  stall_timer_.Start(options_.loop, std::clamp(wait, absl::ZeroDuration(), floor), [this] {
    LookForStalls();
    WatchStalls();
  });
}

void TrialAlerts::LookForStalls() {
  for (TrialRules::Stalled& stalled : rules_.TakeStalled(options_.clock->Monotonic())) {
    // Takes no stacks of a process that the yard did not start.
    if (stalled.is_attached) {
      RaiseStall(std::move(stalled), "");
      continue;
    }
    const std::string job = stalled.job;
    options_.leaders(job, Guard([this, stalled](const std::vector<pid_t>& leaders) {
                       TakeStacks(stalled, leaders);
                     }));
  }
}

void TrialAlerts::TakeStacks(TrialRules::Stalled stalled, const std::vector<pid_t>& leaders) {
  if (!options_.background || leaders.empty()) return RaiseStall(std::move(stalled), "");
  options_.background(
      [this, alive = alive_, loop = options_.loop, stalled = std::move(stalled), leaders] {
        runtime::StacksOptions options;
        options.answer_timeout = absl::Milliseconds(500);
        options.native_timeout = absl::ZeroDuration();
        options.total_timeout = kStacksTime;
        const std::string mark = "YARD_TRIAL_ID=" + stalled.alert.alert.trial;
        const std::string stacks = runtime::StacksTextOfTasks(leaders, mark, kMostStacks, options);
        loop->Post([this, alive, stalled, stacks] {
          if (*alive) RaiseStall(stalled, stacks);
        });
      });
}

void TrialAlerts::RaiseStall(TrialRules::Stalled stalled, const std::string& stacks) {
  if (!rules_.IsStalled(stalled)) return;  // The trial has reported or ended meanwhile.
  stalled.alert.alert.time_us = absl::ToUnixMicros(options_.clock->Now());
  stalled.alert.alert.lines = absl::StrSplit(stacks, '\n', absl::SkipEmpty());
  // Innermost frames come first, so the outer ones are cut off.
  auto& lines = stalled.alert.alert.lines;
  if (lines.size() > bus::kMostLines) lines.resize(bus::kMostLines);
  const auto raised = options_.alerts->Add(stalled.alert);
  LOG_IF(ERROR, !raised.ok()) << raised.status();
  if (raised.ok() && *raised) Raised(**raised);
}

// ---- Handing on

void TrialAlerts::HandOnSoon() {
  if (!is_resumed_ || std::exchange(hands_soon_, true)) return;
  options_.loop->Post(Guard([this] {
    hands_soon_ = false;
    HandOn();
  }));
}

void TrialAlerts::HandOn() {
  if (is_handing_ || hand_timer_.is_set()) return;
  auto due = options_.alerts->NotHanded(1);
  if (!due.ok()) return TryAgainLater(due.status());
  if (due->empty()) return;
  is_handing_ = true;
  bus::AlertStore::Due first = std::move(due->front());
  const msg::AlertT alert = first.alert;
  options_.notify(
      alert, Guard([this, first](const absl::Status& status) { OnHanded(first, false, status); }));
}

void TrialAlerts::OnHanded(const bus::AlertStore::Due& due, bool is_launched,
                           const absl::Status& status) {
  // A launcher that is shutting down also answers Internal. If the error persists, it is a defect.
  const bool is_defect = absl::IsInternal(status) && failures_ >= kMostDefects;
  if (!status.ok() && !IsFinal(status) && !is_defect) {
    is_handing_ = false;
    return TryAgainLater(status);
  }
  failures_ = 0;
  LOG_IF(ERROR, !status.ok()) << (is_launched ? "the on_end command of trial " : "alert of trial ")
                              << due.alert.trial << ": the launcher refuses it: " << status;
  if (!is_launched && !due.command.empty()) return RunOnEnd(due);
  FinishHanding(due.alert.number);
}

void TrialAlerts::RunOnEnd(const bus::AlertStore::Due& due) {
  const auto trial = options_.trial(due.alert.trial);
  auto environment = options_.environment(due.alert.trial);
  if (!trial.ok() || !environment.ok()) {
    LOG(WARNING) << "the on_end command of trial " << due.alert.trial
                 << " is not run: " << (trial.ok() ? environment.status() : trial.status());
    return FinishHanding(due.alert.number);
  }
  const msg::JobSpecT job =
      OnEndJob(*trial, due.command, *std::move(environment), options_.state_directory);
  options_.launch("on_end/" + due.alert.id, job,
                  Guard([this, due](const absl::Status& status) { OnHanded(due, true, status); }));
}

void TrialAlerts::FinishHanding(std::uint64_t number) {
  is_handing_ = false;
  const absl::Status marked = options_.alerts->MarkHanded(number);
  if (!marked.ok()) return TryAgainLater(marked);
  HandOnSoon();
}

void TrialAlerts::TryAgainLater(const absl::Status& why) {
  ++failures_;
  LOG_IF(WARNING, failures_ == 10) << "an alert waits for the launcher: " << why;
  if (hand_timer_.is_set()) return;
  hand_timer_.Start(options_.loop, bus::GrowingPause(failures_, kFirstPause, kLongestPause),
                    [this] { HandOn(); });
}

}  // namespace trainer
