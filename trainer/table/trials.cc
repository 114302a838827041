#include "trainer/table/trials.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "runtime/file/own_directory.h"
#include "runtime/text/printable.h"
#include "runtime/text/random_id.h"
#include "trainer/attempt/program_runner.h"
#include "trainer/attempt/refusal.h"
#include "trainer/run/failure_text.h"
#include "trainer/run/run_configuration.h"
#include "trainer/run/run_mode.h"
#include "trainer/table/ended_trials.h"
#include "trainer/trial/trial_order.h"
#include "trainer/trial/trial_output.h"
#include "trainer/trial/trial_state.h"

// Invariants between two callbacks:
// - `record` in memory equals the stored record, except for records that saves_ could not store
//   after an error of the disk; a timer retries them.
// - only Decide() (trial/life.h) determines how an event changes a trial. CarryOut() stores the new
//   record and performs the actions in order: an action before the Store action may run twice;
//   all others come after it.
// - a trial has a runner exactly while its AttemptStatus says so.
//   (`launching` without a runner: the launcher refuses, but may have started the job before.)
// - nonces_ holds the nonce of the current attempt of every trial that may still report.

namespace trainer {
namespace {

using msg::TrialState;

constexpr int kRowsPerRead = 256;
constexpr absl::Duration kStoreRetry = absl::Seconds(1);

using runtime::Printable;  // For log lines: no text may control the reader's terminal.

std::string TraceWords(const TrialRecord& trial) {
  return trial.trace.empty() ? "" : absl::StrCat(" (trace ", Printable(trial.trace), ")");
}

}  // namespace

Trials::Trials(Options options)
    : options_(std::move(options)),
      table_({options_.store, [this](const TrialRecord& record) { return LoadReports(record); },
              [this] { aging_.Soon(); }}),
      new_trials_({&table_, options_.clock, options_.logdir, options_.hostname,
                   [this](const std::string& id) { return Get(id); }}),
      nonces_(options_.loop, options_.clock),
      sync_({options_.loop, options_.clock, options_.store->path(),
             BackgroundOf(this, options_.sync_background),
             [](const std::string& path) {
               const absl::Status status = TrialStore::Sync(path);
               LOG_IF(ERROR, !status.ok()) << status;
             }}),
      saves_({options_.store, &table_, [this] { sync_.Soon(); }, [this] { ++store_errors_; },
              [this] { TryStoreLater(); }}),
      room_waits_(options_.loop,
                  [this](const std::vector<AttemptKey>& attempts) {
                    for (const AttemptKey& attempt : attempts) Want(attempt);
                  }),
      holds_({.loop = options_.loop,
              .clock = options_.clock,
              .min_free = options_.min_free,
              .again = [this] { queue_.StartNext(); }}),
      view_({&table_, &room_waits_, &holds_,
             [this] { return static_cast<std::size_t>(queue_.slots()); },
             [this] { return static_cast<std::size_t>(queue_.used()); },
             [this](const Trial& trial) {
               const TrialOrder order = queue_.OrderOfTrial(trial);
               return order.state == TrialOrder::State::kWaits ? order.words : std::string();
             }}),
      queue_({options_.loop, &table_, &view_, &holds_, options_.slots,
              [this](Trial& trial) { Start(trial); },
              [this](Trial& trial, const std::string& why) {
                (void)Feed(trial, event::CannotStart{why});
              },
              [this] { StartNextLater(); }}),
      news_(
          {options_.loop, options_.clock, &table_, &view_, options_.spread_every, options_.on_event,
           [this](const TrialRecord& record) {
             const bool is_judged = options_.judge != nullptr && !record.spec.options.sweep.empty();
             if (is_judged) options_.judge->Changed(record);
           }}),
      files_({options_.loop, options_.clock, options_.store, &table_, &news_,
              [this](std::int64_t number) { return saves_.IsUnsaved(number); },
              [this] { TryStoreLater(); }, [this] { ++store_errors_; }, options_.fault}),
      guard_({options_.loop, options_.clock, options_.store, &table_, &room_waits_,
              BackgroundOf(this, options_.background),
              [this](Trial& trial, const LifeEvent& event) { (void)Feed(trial, event); },
              options_.usage}),
      intake_({options_.loop, options_.clock, options_.store, &table_, &news_, &files_,
               &room_waits_, &guard_, options_.judge,
               [this](Trial& trial, const LifeEvent& event) { (void)Feed(trial, event); },
               [this](const AttemptKey& key, const std::string& how) { ReportsComplete(key, how); },
               [this] { sync_.Soon(); }, [this] { ++store_errors_; }, options_.fault}),
      annotations_(
          {options_.store, [this] { sync_.Soon(); }, [this] { ++store_errors_; }, options_.fault}),
      details_({options_.loop, options_.store, &table_, &view_}),
      curves_({options_.loop, options_.clock, &table_, options_.usage}),
      programs_({options_.loop, options_.clock, options_.jobs, &table_, &queue_, &news_, &intake_,
                 options_.relay, options_.executable,
                 [this](Trial& trial, const LifeEvent& event) { (void)Feed(trial, event); },
                 options_.fault}),
      removals_({options_.store, &table_, &view_, [this](std::int64_t number) { Drop(number); },
                 [this] { sync_.Soon(); }, options_.fault, options_.clock}),
      aging_({options_.loop, &table_, &view_, &news_, &files_, &saves_, &removals_,
              options_.keep_trials, [this] { return live_.load(); }, [this] { ++store_errors_; }}),
      attached_({options_.loop, options_.clock, options_.store, &table_, &new_trials_,
                 options_.attached_patience,
                 [this](TrialRecord record) { return Adopt(std::move(record)); },
                 [this](Trial& trial) { return PrepareDirectory(trial); },
                 [this](Trial& trial, const LifeEvent& event) { return Feed(trial, event); },
                 [this](Trial& trial, ProgramEnd end) { programs_.OnEnded(trial, std::move(end)); },
                 [this] { sync_.Soon(); }, options_.fault}) {}

Trials::~Trials() { *alive_ = false; }

absl::Status Trials::Load() {
  std::vector<TrialRecord> live;
  const absl::Status loaded = options_.store->ForEachTrial([&](TrialRecord record) {
    if (HasEnded(record)) return AdoptEnded(std::move(record));
    live.push_back(std::move(record));
    return absl::OkStatus();
  });
  if (!loaded.ok()) return loaded;
  for (TrialRecord& record : live) {
    if (auto status = Adopt(std::move(record)); !status.ok()) return status;
  }
  if (auto status = removals_.FinishEarlier(); !status.ok()) return status;
  aging_.ForgetOldest();
  const absl::Status forgotten = options_.store->ForgetOldLines(
      absl::ToUnixMicros(options_.clock->Now() - AttemptNonces::kLateReports));
  // On a full disk the reports of running trials may wait, but this start must not.
  if (!absl::IsResourceExhausted(forgotten)) return forgotten;
  LOG(ERROR) << forgotten;
  return absl::OkStatus();
}

void Trials::Resume() {
  for (auto& [number, trial] : table_.at_hand()) {
    if (!HasEnded(trial.record)) (void)Feed(trial, event::TakenUp{});
  }
  curves_.Watch();
  queue_.StartNext();
  files_.CheckEnded();
}

absl::StatusOr<msg::TrialT> Trials::Run(const std::string& request_id,
                                        const msg::RunTrialRequestT& request,
                                        const std::string& trace) {
  if (const Trial* const known = table_.WithRequest(request_id)) return view_.Shown(*known);
  if (const EndedTrial* const ended = table_.ended().ByRequest(request_id)) {
    return table_.MessageOf(*ended);
  }
  auto made = new_trials_.FromRequest(request_id, request);
  if (!made.ok()) return made.status();
  TrialRecord record = *std::move(made);
  record.trace = trace;
  auto number = options_.store->Insert(record);
  if (!number.ok()) return number.status();
  sync_.Soon();
  record.number = *number;
  if (auto status = Adopt(std::move(record)); !status.ok()) return status;
  Trial& trial = table_.At(*number);
  news_.Announce(trial);
  queue_.StartNext();
  return view_.Shown(trial);
}

absl::StatusOr<std::string> Trials::Find(std::string_view name) const { return table_.IdOf(name); }

absl::StatusOr<msg::TrialT> Trials::Get(const std::string& id) const {
  if (const Trial* const trial = table_.AtHand(id)) return view_.Shown(*trial);
  const EndedTrial* const ended = table_.ended().ById(id);
  if (ended == nullptr) return absl::NotFoundError(absl::StrCat("no trial ", id));
  return table_.MessageOf(*ended);
}

std::vector<msg::TrialT> Trials::List(const ListOptions& options) const {
  return view_.List(options.live_only, options.newest_ended);
}

void Trials::VisitNames(const std::function<void(std::string_view id, std::string_view name,
                                                 msg::TrialState state)>& visit) const {
  table_.VisitNames(visit);
}

absl::StatusOr<msg::TrialT> Trials::Stop(const std::string& id, absl::Duration grace,
                                         const std::string& trace) {
  return Stop(id, grace, "", trace);
}

absl::StatusOr<msg::TrialT> Trials::StopBecause(const std::string& id, const std::string& why,
                                                const std::string& trace) {
  return Stop(id, absl::ZeroDuration(), why, trace);
}

absl::StatusOr<msg::TrialT> Trials::Stop(const std::string& id, absl::Duration grace,
                                         const std::string& why, const std::string& trace) {
  const auto found = table_.ById(id);
  if (!found.ok()) return found.status();
  Trial* const trial = *found;
  LifeDecision decision = DecideOn(*trial, event::TrialStopAsked{grace, why});
  if (auto status = CarryOutOrder(*trial, std::move(decision), trace); !status.ok()) {
    return status;
  }
  return view_.Whole(*trial);
}

void Trials::Details(const std::string& id,
                     std::function<void(absl::StatusOr<msg::TrialDetailsReplyT>)> done) {
  details_.Gather(id, std::move(done));
}

absl::StatusOr<msg::TrialT> Trials::PauseTrial(const std::string& id, const std::string& trace) {
  const auto found = table_.ById(id);
  if (!found.ok()) return found.status();
  Trial* const trial = *found;
  LifeDecision decision = DecideOn(*trial, event::PauseAsked{"it was asked to pause"});
  if (auto status = CarryOutOrder(*trial, std::move(decision), trace); !status.ok()) {
    return status;
  }
  return view_.Whole(*trial);
}

absl::StatusOr<msg::TrialT> Trials::ResumeTrial(const std::string& id) {
  const auto found = table_.ById(id);
  if (!found.ok()) return found.status();
  Trial* const trial = *found;
  LifeDecision decision = DecideOn(*trial, event::ResumeAsked{});
  if (decision.refusal.ok() && HasEnded(trial->record)) {
    auto environment = options_.store->EnvironmentOf(trial->record.number);
    if (!environment.ok()) return environment.status();
    decision.record.spec.environment = *std::move(environment);
  }
  if (auto status = CarryOutOrder(*trial, std::move(decision), ""); !status.ok()) return status;
  return view_.Shown(*trial);
}

absl::StatusOr<msg::TrialT> Trials::RemoveTrial(std::string_view name,
                                                const std::string& request_id) {
  return removals_.Remove(name, request_id);
}

absl::Status Trials::RemoveCheckpoints(const std::string& id) {
  const auto found = table_.ById(id);
  if (!found.ok()) return found.status();
  Trial& trial = **found;
  const std::string what = absl::StrCat("cannot remove the checkpoints of trial ", id, ": ");
  if (!HasEnded(trial.record)) {
    return absl::FailedPreconditionError(absl::StrCat(what, "it ", StateWords(trial.record)));
  }
  const Trial* other = table_.StartingFrom(id);
  if (other == nullptr) other = table_.Restoring(trial.record.spec.run_directory);
  if (other != nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat(what, "trial ", other->record.id(), " is to start from them"));
  }
  const absl::Status removed = trial.reports->RemoveCheckpoints();
  news_.Announce(trial);
  return removed;
}

absl::StatusOr<std::int64_t> Trials::Tell(const std::string& id, const std::string& event,
                                          const std::string& request_id) {
  const auto found = table_.ById(id);
  if (!found.ok()) return found.status();
  Trial* const trial = *found;
  if (HasEnded(trial->record)) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot tell trial ", id, " anything: it ", StateWords(trial->record)));
  }
  if (ReportsByOutput(trial->record)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "cannot tell trial ", id, " anything: it reports by its output and gets no answers"));
  }
  auto number = trial->reports->events().Tell(event, request_id);
  if (number.ok()) sync_.Soon();
  return number;
}

absl::StatusOr<msg::TrialT> Trials::Annotate(const std::string& id,
                                             const msg::AnnotateRequestT& request) {
  const auto found = table_.ById(id);
  if (!found.ok()) return found.status();
  Trial& trial = **found;
  if (request.set_priority && HasEnded(trial.record)) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot set the priority of trial ", id, ": it ", StateWords(trial.record)));
  }
  const auto changed = annotations_.Change(trial, request);
  if (!changed.ok()) return changed.status();
  if (*changed) news_.Announce(trial);
  if (*changed && request.set_priority) queue_.StartNext();
  return view_.Shown(trial);
}

void Trials::SetSlots(int slots) {
  queue_.SetSlots(slots);
  queue_.StartNext();
}

int Trials::slots() const { return queue_.slots(); }

absl::StatusOr<std::vector<std::string>> Trials::EnvironmentOf(const std::string& id) const {
  const auto number = table_.NumberOf(id);
  if (!number.ok()) return number.status();
  return options_.store->EnvironmentOf(*number);
}

absl::StatusOr<std::vector<StoreBatch::Log>> Trials::LogOf(const std::string& id,
                                                           std::int64_t lines) const {
  const auto number = table_.NumberOf(id);
  if (!number.ok()) return number.status();
  return options_.store->LastLogs(*number, lines);
}

absl::StatusOr<std::vector<ResultRow>> Trials::RowsAfter(const std::string& id, std::int64_t row) {
  const auto number = table_.NumberOf(id);
  if (!number.ok()) return number.status();
  return options_.store->RowsAfter(*number, row, kRowsPerRead);
}

std::map<std::string, Trials::Extent> Trials::Extents() const {
  std::map<std::string, Extent> extents;
  for (const auto& [number, trial] : table_.at_hand()) {
    extents[trial.record.id()] = {trial.reports->progress().last_row.row, trial.changed_us};
  }
  for (const auto& [number, trial] : table_.ended().all()) {
    extents[std::string(trial.id())] = {trial.reports(), trial.changed_us()};
  }
  return extents;
}

Trials::ObserverId Trials::Observe(const std::string& id,
                                   std::function<void(const ResultRow*)> changed) {
  return news_.Observe(id, std::move(changed));
}

void Trials::Forget(ObserverId observer) { news_.Forget(observer); }

Trials::Stats Trials::GetStats() const {
  return {table_.count(), live_.load(), queue_.used(), intake_.reports(), store_errors_.load()};
}

absl::StatusOr<AttemptKey> Trials::Greet(std::string_view nonce) {
  const auto found = nonces_.Find(nonce);
  if (!found) return absl::PermissionDeniedError("no attempt of a trial has this nonce");
  return *found;
}

absl::StatusOr<AttemptKey> Trials::Attach(const AttachRequest& attach) {
  return attached_.Attach(attach);
}

void Trials::OnConnection(const AttemptKey& attempt, bool is_open) {
  attached_.OnConnection(attempt, is_open);
}

void Trials::OnAlive(const AttemptKey& attempt) {
  Trial* const trial = table_.AtHand(attempt.trial);
  if (trial == nullptr || trial->record.attempt != attempt.attempt) return;
  guard_.OnSignOfLife(*trial);
}

void Trials::OnOver(std::function<void(const AttemptKey&, const std::string& why)> over) {
  attached_.OnOver(std::move(over));
}

std::vector<absl::StatusOr<std::string>> Trials::Receive(const std::vector<RelayedLine>& lines) {
  return intake_.Receive(lines);
}

void Trials::OnWanted(std::function<void(const AttemptKey&)> wanted) {
  wanted_ = std::move(wanted);
}

// ---- Loading trials.

absl::StatusOr<std::unique_ptr<TrialReports>> Trials::LoadReports(const TrialRecord& record) {
  TrialReports::Options options = {
      .store = options_.store, .fault = options_.fault, .judge = options_.judge};
  options.on_ready = [this, number = record.number] {
    const Trial* const ready = table_.AtHand(number);
    if (ready == nullptr) return;
    Want({number, ready->record.attempt});
    // The line that needs it is taken first.
    options_.loop->Post([this, number, alive = alive_] {
      if (*alive) programs_.OnCheckpointRead(number);
    });
  };
  options.annotate = [this, number = record.number](const msg::AnnotateRequestT& request) {
    return AnnotateByItself(number, request);
  };
  options.on_start = [this] { StartNextLater(); };
  options.on_made_directory = [this, number = record.number] {
    const Trial* const trial = table_.AtHand(number);
    if (trial == nullptr || !trial->record.launching) return;
    const absl::Status written = WriteConfiguration(trial->record);
    LOG_IF(ERROR, !written.ok()) << "trial " << trial->record.id() << ": " << written;
  };
  options.background = BackgroundOf(this, options_.background);
  options.is_referenced = [this](const std::string& directory) {
    return table_.Restoring(directory) != nullptr || IsBeingCopied(directory);
  };
  return TrialReports::Load(record, std::move(options));
}

// Returns true if a trial that is to start from `checkpoint` is copying it.
bool Trials::IsBeingCopied(const std::string& checkpoint) const {
  return std::any_of(table_.at_hand().begin(), table_.at_hand().end(),
                     [&](const auto& entry) { return entry.second.reports->MayCopy(checkpoint); });
}

// Adds a live trial of an earlier trainer.
absl::Status Trials::Adopt(TrialRecord record) {
  const auto added = table_.Add(std::move(record));
  if (!added.ok()) return added.status();
  Trial& trial = **added;
  trial.changed_us = NowMicros();
  nonces_.Add(trial.record.nonce, {trial.record.number, trial.record.attempt});
  ++live_;
  const bool rests = trial.record.state == TrialState::Paused;
  if (!rests && trial.record.launching) {
    // The directory of another trial is created at its start, and its files are repaired before a
    // late report.
    const absl::Status repaired = trial.reports->RepairFiles();
    LOG_IF(ERROR, !repaired.ok()) << "trial " << trial.record.id() << ": " << repaired;
    // The previous trainer may have been killed before it wrote a change.
    trial.config_behind = true;
    (void)files_.WriteChangedConfiguration(trial);
  }
  RepairAnnotations(trial.record);
  files_.WriteOutcome(trial.record);
  const bool may_have_failed = trial.record.launching || trial.record.attempt > 1;
  if (!rests && may_have_failed) files_.WriteErrorFile(trial.record);
  return absl::OkStatus();
}

// ---- Ended trials.

// Adopts an ended trial of an earlier trainer.
absl::Status Trials::AdoptEnded(TrialRecord record) {
  if (auto status = table_.AddEnded(record); !status.ok()) return status;
  if (MayReportLate(record)) {
    nonces_.Add(record.nonce, {record.number, record.attempt});
    nonces_.ForgetLater(record.nonce);
  }
  files_.AddUnchecked(record.number);
  return absl::OkStatus();
}

bool Trials::MayReportLate(const TrialRecord& record) const {
  return options_.clock->Now() - absl::FromUnixMicros(record.ended_us) <
         AttemptNonces::kLateReports;
}

// ---- Storing.

// Called for a line of the trial's own program.
absl::Status Trials::AnnotateByItself(std::int64_t number, const msg::AnnotateRequestT& request) {
  Trial* const trial = table_.AtHand(number);
  if (trial == nullptr) return absl::InternalError("the trial was put aside");
  const auto changed = annotations_.Change(*trial, request);
  if (!changed.ok()) return changed.status();
  if (!*changed) return absl::OkStatus();
  options_.loop->Post([this, number, alive = alive_] {
    Trial* const known = *alive ? table_.AtHand(number) : nullptr;
    if (known != nullptr) news_.Announce(*known);
  });
  return absl::OkStatus();
}

void Trials::TryStoreLater() {
  if (store_timer_.is_set()) return;
  store_timer_.Start(options_.loop, kStoreRetry, [this] {
    queue_.TryAllAgain();
    files_.FinishLate();
    saves_.Retry();
    queue_.StartNext();
  });
}

// Returns a function that runs work by `run`, one of the options, and then `done` on the loop.
Trials::Background Trials::BackgroundOf(Trials* self,
                                        const std::function<void(std::function<void()>)>& run) {
  if (!run) return {};
  return [self, &run](std::function<void()> work, std::function<void()> done) {
    run([work = std::move(work), done = std::move(done), loop = self->options_.loop,
         alive = self->alive_] {
      work();
      loop->Post([done, alive] {
        if (*alive) done();
      });
    });
  };
}

std::int64_t Trials::NowMicros() const { return absl::ToUnixMicros(options_.clock->Now()); }

Moment Trials::Now() const {
  return {NowMicros(), options_.clock->Monotonic(), runtime::RandomHex128};
}

// ---- Reports.

void Trials::Want(const AttemptKey& attempt) {
  if (wanted_) wanted_(attempt);
}

void Trials::ReportsComplete(const AttemptKey& key, const std::string& how) {
  Trial& trial = table_.At(key.trial);
  (void)news_.Spread(trial);
  if (HasEnded(trial.record)) {
    nonces_.Forget(trial.record.nonce);
    trial.reports->CloseFiles();
  }
  if (trial.record.state == TrialState::Paused) trial.reports->CloseFiles();
  if (trial.runner == nullptr) return;
  (void)Feed(trial, event::ReporterEnded{});
  trial.runner->ReportsComplete(how);
}

// ---- Life: Decide() determines what an event changes; this class stores it and then acts.

AttemptFacts Trials::FactsOf(const Trial& trial) const {
  const TrialReports::Progress& progress = trial.reports->progress();
  return {.done = progress.done,
          .has_spoken = progress.last_line > 0 && !ReportsByOutput(trial.record),
          .is_held = !room_waits_.WhyOf(trial.record.number).empty(),
          .nobody_reports = trial.runner != nullptr && trial.runner->nobody_reports(),
          .has_checkpoint = progress.newest_checkpoint.number != 0,
          .lost_output = trial.lost_output};
}

LifeDecision Trials::DecideOn(const Trial& trial, TrialRecord record,
                              const LifeEvent& event) const {
  return Decide(std::move(record), trial.attempt, FactsOf(trial), event, Now());
}

LifeDecision Trials::DecideOn(const Trial& trial, const LifeEvent& event) const {
  return DecideOn(trial, trial.record, event);
}

// Returns an error only if the event may be refused, or its record must be stored now.
absl::Status Trials::Feed(Trial& trial, const LifeEvent& event) {
  return CarryOut(trial, DecideOn(trial, event));
}

// `trace` is passed on with calls to the launcher that this causes.
absl::Status Trials::CarryOutOrder(Trial& trial, LifeDecision decision, const std::string& trace) {
  if (!decision.refusal.ok()) return decision.refusal;
  if (decision.actions.empty()) return absl::OkStatus();
  const std::string before = std::exchange(trial.stop_trace, trace);
  absl::Status status = CarryOut(trial, std::move(decision));
  if (!status.ok()) trial.stop_trace = before;
  return status;
}

// `lines` are stored together with the record.
absl::Status Trials::CarryOut(Trial& trial, LifeDecision decision,
                              const std::vector<AnsweredLine>& lines) {
  if (!decision.refusal.ok()) return decision.refusal;
  const auto is_store = [](const LifeAction& action) {
    return std::holds_alternative<action::StoreTrial>(action);
  };
  if (std::none_of(decision.actions.begin(), decision.actions.end(), is_store)) {
    trial.record = std::move(decision.record);
    trial.attempt = decision.attempt;
  }
  Held held;
  for (const LifeAction& action : decision.actions) {
    if (const auto* const store = std::get_if<action::StoreTrial>(&action)) {
      auto status = saves_.Save(store->how, trial, std::move(decision.record), lines);
      if (!status.ok()) return status;
      trial.attempt = decision.attempt;
      if (!store->point.empty()) Fault(store->point);
    } else if (std::holds_alternative<action::PauseGroup>(action)) {
      held = PauseItsGroup(trial.record);
    } else {
      Carry(trial, action);
    }
  }
  for (const auto& [other, actions] : held) {
    for (const LifeAction& action : actions) Carry(*other, action);
  }
  return absl::OkStatus();
}

void Trials::Carry(Trial& trial, const LifeAction& action) {
  std::visit([&](const auto& known) { Carry(trial, known); }, action);
}

// CarryOut() executes these two itself.
void Trials::Carry(Trial&, const action::StoreTrial&) {}

void Trials::Carry(Trial&, const action::PauseGroup&) {}

void Trials::Carry(Trial& trial, const action::UpdateFiles&) { files_.BringUpToDate(trial); }

void Trials::Carry(Trial& trial, const action::RecordFailure& failed) {
  files_.RecordFailure(trial.record, failed);
}

void Trials::Carry(Trial& trial, const action::WriteOutcome&) { files_.WriteOutcome(trial.record); }

void Trials::Carry(Trial& trial, const action::Launch&) { programs_.Launch(trial); }

void Trials::Carry(Trial& trial, const action::Follow&) {
  if (IsAttached(trial.record)) return attached_.TakeUp(trial);
  curves_.Repair(trial);
  programs_.Follow(trial);
}

void Trials::Carry(Trial& trial, const action::SendStop& stop) { programs_.Stop(trial, stop); }

void Trials::Carry(Trial& trial, const action::TakeStacks&) { guard_.TakeStacksAndStop(trial); }

runtime::Timer& Trials::TimerOf(Trial& trial, TrialTimer timer) {
  return timer == TrialTimer::kStop ? trial.stop_timer : trial.restart_timer;
}

void Trials::Carry(Trial& trial, const action::SetTrialTimer& set) {
  TimerOf(trial, set.timer)
      .Start(options_.loop, set.delay, [this, number = trial.record.number, timer = set.timer] {
        const bool is_stop = timer == TrialTimer::kStop;
        (void)Feed(table_.At(number),
                   is_stop ? LifeEvent(event::StopDue{}) : LifeEvent(event::RestartDue{}));
      });
}

void Trials::Carry(Trial& trial, const action::CancelTrialTimer& cancel) {
  TimerOf(trial, cancel.timer).Cancel();
}

void Trials::Carry(Trial& trial, const action::Watch&) {
  guard_.Begin(trial);
  curves_.Watch();
}

void Trials::Carry(Trial& trial, const action::EndWatch&) { guard_.End(trial); }

void Trials::Carry(Trial& trial, const action::OverruleReports&) {
  trial.reports->Decide(trial.record);
}

void Trials::Carry(Trial& trial, const action::FreeSlot&) { trial.runner.reset(); }

void Trials::Carry(Trial& trial, const action::CloseFiles&) {
  trial.reports->CloseFiles();
  WaitNoMoreForRoom(trial);
}

void Trials::Carry(Trial& trial, const action::LeaveQueue&) {
  room_waits_.Remove(trial.record.number);
  trial.reports->CancelStart();
}

void Trials::Carry(Trial& trial, const action::ChangeNonce& change) {
  nonces_.Forget(change.old);
  nonces_.Add(trial.record.nonce, {trial.record.number, trial.record.attempt});
}

void Trials::Carry(Trial& trial, const action::BeginAttempt&) {
  trial.reports->BeginAttempt();
  trial.lost_output = 0;
  Want({trial.record.number, trial.record.attempt - 1});
}

void Trials::Carry(Trial& trial, const action::Retire&) { Retire(trial); }

void Trials::Carry(Trial&, const action::Revive&) { ++live_; }

void Trials::Carry(Trial& trial, const action::Log& log) {
  const std::string words =
      absl::StrCat("trial ", trial.record.id(), Printable(log.words), TraceWords(trial.record));
  if (log.is_warning) {
    LOG(WARNING) << words;
  } else {
    LOG(INFO) << words;
  }
}

void Trials::Carry(Trial& trial, const action::Announce&) { news_.Announce(trial); }

void Trials::Carry(Trial&, const action::StartNext&) { StartNextLater(); }

// ---- The queue.

void Trials::Start(Trial& trial) {
  // A launch in doubt has its directory, and perhaps a job, which a failure here would lose.
  TrialRecord changed = trial.record;
  const absl::Status prepared = trial.record.launching ? absl::OkStatus() : Prepare(trial, changed);
  if (trial.reports->waits_for_start()) return StartNextLater();
  if (MayTryAgain(prepared)) {
    LOG_EVERY_N(ERROR, 20) << "cannot start trial " << trial.record.id() << ": " << prepared;
    if (absl::IsResourceExhausted(prepared)) {
      // Later trials in the queue may need less room.
      intake_.WaitForRoom(trial, true);
      queue_.SkipForRoom(trial.record.number);
      StartNextLater();
    }
    return TryStoreLater();
  }
  if (!prepared.ok()) {
    (void)Feed(trial, event::CannotStart{std::string(prepared.message())});
    return;
  }
  Fault("before launch");
  const std::vector<AnsweredLine> before =
      trial.record.launching ? std::vector<AnsweredLine>()
                             : OutputBefore(trial.record, trial.reports->progress().last_line);
  const auto status =
      CarryOut(trial, DecideOn(trial, std::move(changed), event::LaunchDue{}), before);
  if (!status.ok()) {
    LOG_EVERY_N(ERROR, 20) << "cannot start trial " << trial.record.id() << ": " << status;
    if (absl::IsResourceExhausted(status)) intake_.WaitForRoom(trial, false);
    return TryStoreLater();
  }
  room_waits_.Remove(trial.record.number);
  if (!before.empty()) trial.reports->SkipTo(before.back().number);
  // The trial that it started from may be forgotten now.
  if (!trial.record.spec.options.from.empty()) aging_.Soon();
}

// Prepares the directory, and chooses where the attempt starts.
absl::Status Trials::Prepare(Trial& trial, TrialRecord& changed) {
  if (!trial.reports->is_choosing_start()) {
    if (auto status = PrepareDirectory(trial); !status.ok()) return status;
  }
  const auto from = table_.ById(trial.record.spec.options.from);
  if (absl::IsUnavailable(from.status())) return from.status();
  auto start =
      trial.reports->ChooseStart(trial.record, from.ok() ? (*from)->reports.get() : nullptr);
  if (!start.ok()) return start.status();
  changed.start_checkpoint = std::move(start->directory);
  changed.start_iteration = start->iteration;
  changed.start_time_total_us = start->time_total_us;
  trial.reports->StartFrom(changed);
  return absl::OkStatus();
}

absl::Status Trials::PrepareDirectory(Trial& trial) {
  const TrialSpec& spec = trial.record.spec;
  auto made = runtime::MakeOwnDirectory(spec.run_directory, RunDirectoryMode(spec.options));
  if (!made.ok()) return made;
  if (auto status = WriteConfiguration(trial.record); !status.ok()) return status;
  return trial.reports->RepairFiles();
}

// Retries the lines that are held back; from now on they count as lines of an ended trial.
void Trials::WaitNoMoreForRoom(Trial& trial) {
  if (room_waits_.Remove(trial.record.number)) {
    Want({trial.record.number, trial.record.attempt});
  }
}

// Drops the parts that only a live trial needs. Keeps its nonce, for a late report.
void Trials::Retire(Trial& trial) {
  WaitNoMoreForRoom(trial);
  trial.stop_timer.Cancel();
  trial.restart_timer.Cancel();
  guard_.End(trial);
  trial.statistics.reset();
  trial.errors_before.reset();
  trial.runner.reset();
  trial.reports->CancelStart();
  trial.reports->CloseFiles();
  const absl::Status removed = trial.reports->RemoveTemporaryCheckpoints();
  LOG_IF(ERROR, !removed.ok()) << "trial " << trial.record.id() << ": " << removed;
  trial.record.spec.environment = {};
  --live_;
  nonces_.ForgetLater(trial.record.nonce);
  aging_.OnEnded();
}

Trials::Held Trials::PauseItsGroup(const TrialRecord& failed) {
  Held held;
  for (auto& [number, trial] : table_.at_hand()) {
    if (!IsOfGroup(trial.record, failed)) continue;
    LifeDecision decision = DecideOn(trial, event::PauseAsked{WhyAGroupIsPaused(failed.id())});
    if (!decision.refusal.ok() || decision.actions.empty()) continue;
    std::erase_if(decision.actions, [](const LifeAction& action) {
      return std::holds_alternative<action::StoreTrial>(action);
    });
    trial.record = std::move(decision.record);
    trial.attempt = decision.attempt;
    saves_.Mark(number);
    held.emplace_back(&trial, std::move(decision.actions));
  }
  return held;
}

// ---- Forgetting.

// Removes all traces of an ended trial from memory.
void Trials::Drop(std::int64_t number) {
  if (const Trial* const trial = table_.AtHand(number)) nonces_.Forget(trial->record.nonce);
  saves_.Drop(number);
  files_.Drop(number);
  news_.Drop(number);
  room_waits_.Remove(number);
  table_.Remove(number);
}

// Calls StartNext() from the loop, where neither a runner's callback nor a start is in progress.
void Trials::StartNextLater() {
  options_.loop->Post([this, alive = alive_] {
    if (!*alive) return;
    aging_.ForgetOldest();
    queue_.StartNext();
  });
}

void Trials::Fault(std::string_view point) {
  if (options_.fault) options_.fault(point);
}

absl::StatusOr<std::unique_ptr<Trials>> Trials::Open(Options options) {
  auto trials = std::unique_ptr<Trials>(new Trials(std::move(options)));
  if (auto status = trials->Load(); !status.ok()) return status;
  return trials;
}

}  // namespace trainer
