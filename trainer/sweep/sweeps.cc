#include "trainer/sweep/sweeps.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "glog/logging.h"
#include "runtime/text/name_search.h"
#include "runtime/text/printable.h"
#include "runtime/text/random_id.h"
#include "runtime/text/string_view.h"
#include "trainer/attempt/refusal.h"
#include "trainer/sweep/sweep_input.h"
#include "trainer/sweep/sweep_message.h"
#include "trainer/sweep/sweep_plan.h"
#include "trainer/sweep/sweep_trial_request.h"
#include "trainer/trial/trial_request.h"
#include "tuning/engine/plan.h"

// Invariants between two callbacks, for a sweep that has not ended:
// - its engine's state equals the stored events, except for reports between Judge() and
//   Committed(); after an error of the store it has no engine until a timer has loaded it again.
// - each action that its engine has ordered is done, or in `todo`, or its question is being
//   answered (`questions_`).

namespace trainer {
namespace {

using tuning::Action;
using tuning::Engine;
using Event = tuning::EngineEvent;
using Stage = tuning::Engine::Stage;

constexpr absl::Duration kRetry = absl::Seconds(1);
constexpr int kRemovedPerTurn = 8;
// How many finished removals are kept, to answer retries of the call.
constexpr std::size_t kRemovalsKept = 100;

}  // namespace

Sweeps::Sweeps(Options options)
    : options_(std::move(options)),
      news_({options_.loop,
             [this](const std::string& id, std::int64_t after) { return ChangesOf(id, after); },
             options_.on_event}),
      questions_({options_.loop, options_.store, options_.background,
                  [this](const std::string& id, const tuning::Question& question,
                         const std::optional<tuning::Config>& config) {
                    TakeSuggestion(id, question, config);
                  },
                  options_.fault}) {}

Sweeps::~Sweeps() { *alive_ = false; }

absl::Status Sweeps::Load() {
  return options_.store->ForEachSweep([&](SweepRecord record) -> absl::Status {
    const std::string id = record.id;
    Entry& entry = entries_[id];
    entry.record = std::move(record);
    order_.push_back(id);
    if (entry.record.ended_us != 0) return absl::OkStatus();
    LoadEngine(entry);
    return absl::OkStatus();
  });
}

void Sweeps::Resume(Trials* trials) {
  trials_ = trials;
  for (const std::string& id : order_) {
    Entry& entry = entries_.at(id);
    if (entry.record.ended_us != 0) continue;
    if (entry.sweep == nullptr) {
      RetryLater(entry);
      continue;
    }
    TakeUp(entry);
  }
}

absl::StatusOr<msg::SweepT> Sweeps::Run(const std::string& request_id,
                                        const msg::RunSweepRequestT& request,
                                        const std::string& trace) {
  for (const auto& [id, entry] : entries_) {
    if (entry.record.request_id == request_id) return Shown(entry);
  }
  SweepRecord record;
  record.id = FreeId();
  record.name = request.name.empty() ? record.id : request.name;
  record.request_id = request_id;
  record.request = request;
  record.trace = trace;
  record.created_us = NowMicros();
  if (auto status = CheckRunName(record.name); !status.ok()) return status;
  for (const auto& [id, entry] : entries_) {
    if (entry.record.name != record.name) continue;
    return absl::AlreadyExistsError(
        absl::StrCat("the name ", record.name, " is taken by sweep ", id,
                     ": choose another --name, or remove that one: yard rm ", id));
  }
  auto plan = WithParallel(request.plan, static_cast<std::size_t>(trials_->slots()));
  if (!plan.ok()) return plan.status();
  record.request.plan = *std::move(plan);
  std::vector<SweepEventRow> events;
  auto sweep = Sweep::Begin(record, record.created_us, events);
  if (!sweep.ok()) return sweep.status();
  if (auto status = CheckTemplate(record, (*sweep)->engine()); !status.ok()) return status;
  const auto number = options_.store->InsertSweep(record, events);
  if (!number.ok()) return number.status();
  record.number = *number;
  Fault("sweep inserted");
  const std::string id = record.id;
  order_.push_back(id);
  Entry& entry = entries_[id];
  entry.record = std::move(record);
  LOG(INFO) << "sweep " << id << " (" << runtime::Printable(entry.record.name) << ") begins";
  LoadEngine(entry);
  if (entry.sweep == nullptr) {
    RetryLater(entry);
  } else {
    TakeUp(entry);
  }
  return Shown(entry);
}

absl::StatusOr<std::string> Sweeps::Find(std::string_view name) const {
  runtime::NameSearch search(name);
  for (const auto& [id, entry] : entries_) {
    search.LookAt(entry.record.ended_us == 0, entry.record.number, id, entry.record.name);
  }
  return search.Found(absl::StrCat("no sweep is called ", runtime::Absl(name)));
}

absl::StatusOr<msg::SweepT> Sweeps::Get(const std::string& id) const {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return NoSweep(id);
  return Shown(found->second);
}

std::vector<msg::SweepT> Sweeps::List(bool live_only) const {
  std::vector<msg::SweepT> sweeps;
  for (const std::string& id : order_) {
    const Entry& entry = entries_.at(id);
    if (live_only && entry.record.ended_us != 0) continue;
    sweeps.push_back(Shown(entry));
  }
  return sweeps;
}

absl::StatusOr<msg::SweepDetailsReplyT> Sweeps::Details(const std::string& id) {
  Entry* const entry = EntryOf(id);
  if (entry == nullptr) return NoSweep(id);
  const auto sweep = AtHand(*entry);
  if (!sweep.ok()) return sweep.status();
  return SweepDetailsMessage(entry->record, **sweep);
}

absl::StatusOr<msg::FollowSweepReplyT> Sweeps::Since(const std::string& id, std::uint64_t event) {
  Entry* const entry = EntryOf(id);
  if (entry == nullptr) return NoSweep(id);
  const auto sweep = AtHand(*entry);
  if (!sweep.ok()) return sweep.status();
  msg::FollowSweepReplyT reply;
  reply.sweep = std::make_unique<msg::SweepT>(SweepMessage(entry->record, **sweep));
  const auto seq = static_cast<std::int64_t>(std::min(event, reply.sweep->events));
  reply.trials = TrialsChangedAfter(entry->record, **sweep, seq);
  return reply;
}

absl::StatusOr<msg::SweepT> Sweeps::Change(const std::string& id,
                                           const msg::ChangeSweepRequestT& request,
                                           const std::string& request_id,
                                           const std::string& trace) {
  Entry* const entry = EntryOf(id);
  if (entry == nullptr) return NoSweep(id);
  const auto had_ended = entry->record.ended_us != 0;
  auto sweep = AtHand(*entry);
  if (!sweep.ok()) return sweep.status();
  if ((*sweep)->HasRequest(request_id)) return Shown(*entry);
  std::string plan;
  auto event = EventOfOrder(id, (*sweep)->engine(), request, plan);
  if (!event.ok()) return event.status();
  StoreBatch batch;
  const Engine::Outcome outcome =
      (*sweep)->Apply(*std::move(event), NowMicros(), batch, plan, request_id);
  if (!outcome.changed) {
    for (const Action& action : outcome.actions) {
      if (action.kind == Action::Kind::kNotice) return absl::InvalidArgumentError(action.text);
    }
    return Shown(*entry);
  }
  const bool goes_on = had_ended && !HasEnded((*sweep)->engine());
  SweepRecord record = entry->record;
  if (had_ended) {
    record.ended_us = goes_on ? 0 : record.ended_us;
    record.summary = SweepMessage(record, **sweep);
    batch.sweeps.push_back(record);
  }
  if (auto status = options_.store->Write(batch); !status.ok()) {
    Lose(*entry);
    return status;
  }
  Fault("sweep changed");
  entry->record = std::move(record);
  if (goes_on) entry->sweep = *sweep;
  LOG(INFO) << "sweep " << id << ": " << msg::EnumNameSweepOrder(request.order)
            << (trace.empty() ? "" : " (trace ") << runtime::Printable(trace)
            << (trace.empty() ? "" : ")");
  news_.TellLater(id);
  if (goes_on) TakeUp(*entry);
  if (!goes_on && entry->sweep != nullptr) Order(*entry, outcome.actions);
  return Shown(*entry);
}

void Sweeps::Remove(const std::string& id, const std::string& request_id,
                    std::function<void(absl::StatusOr<msg::SweepT>)> done) {
  const auto removed = removed_.find(request_id);
  if (removed != removed_.end()) return done(removed->second);
  Entry* const entry = EntryOf(id);
  if (entry == nullptr) return done(NoSweep(id));
  if (entry->record.ended_us == 0) {
    return done(absl::FailedPreconditionError(
        absl::StrCat("cannot remove sweep ", id, ": it has not ended. Next step: yard stop ", id)));
  }
  const auto sweep = AtHand(*entry);
  if (!sweep.ok()) return done(sweep.status());
  std::deque<std::string> trials;
  for (std::uint64_t trial = 0; trial < (*sweep)->engine().trials().size(); ++trial) {
    if (!(*sweep)->facts(trial).id.empty()) trials.push_back((*sweep)->facts(trial).id);
  }
  RemoveTrials(id, request_id, std::move(trials), std::move(done));
}

Sweeps::ObserverId Sweeps::Observe(const std::string& id, std::function<void()> changed) {
  return news_.Observe(id, std::move(changed));
}

void Sweeps::Forget(ObserverId observer) { news_.Forget(observer); }

// ---- Reports.

Verdict Sweeps::Judge(const TrialRecord& trial, const ResultRow& row,
                      const std::vector<Metric>& fields, bool saves, StoreBatch& batch) {
  Entry* const entry = EntryOf(trial.spec.options.sweep);
  if (entry == nullptr) return {};
  if (entry->sweep == nullptr && entry->record.ended_us == 0) {
    // (If the report can be stored, the sweep can be loaded; the timer then takes it over.)
    LoadEngine(*entry);
    entry->is_lost = true;
  }
  if (entry->sweep == nullptr) return {};
  auto event = EventOfReport(entry->sweep->engine().plan(), fields);
  if (!event) return {};
  event->trial = trial.spec.options.sweep_trial;
  event->resource = static_cast<double>(row.step);
  event->whether = saves;
  const Engine::Outcome outcome = entry->sweep->Apply(*event, NowMicros(), batch);
  Verdict verdict;
  for (const Action& action : outcome.actions) {
    if (action.kind != Action::Kind::kAnswer) {
      entry->drafted.push_back(action);
    } else if (action.answer != tuning::TrialDecision::kContinue) {
      verdict.kind = action.answer == tuning::TrialDecision::kStop ? Verdict::Kind::kStop
                                                                   : Verdict::Kind::kPause;
      verdict.reason = action.text;
    }
  }
  const bool is_spent = CountEpoch(*entry, batch);
  if (outcome.changed || is_spent) drafts_.insert(entry->record.id);
  return verdict;
}

void Sweeps::Committed() {
  for (const std::string& id : std::exchange(drafts_, {})) {
    Entry& entry = entries_.at(id);
    Order(entry, std::exchange(entry.drafted, {}));
    news_.TellLater(id);
  }
}

void Sweeps::Abandon() {
  for (const std::string& id : std::exchange(drafts_, {})) Lose(entries_.at(id));
}

void Sweeps::Changed(const TrialRecord& trial) {
  changed_.insert({trial.spec.options.sweep, trial.spec.options.sweep_trial});
  if (changed_.size() > 1) return;
  Post([this] {
    for (const auto& [id, number] : std::exchange(changed_, {})) {
      Entry* const entry = EntryOf(id);
      if (entry == nullptr || entry->sweep == nullptr) continue;
      if (number < entry->sweep->engine().trials().size()) LookAt(*entry, number);
      Act(*entry);
    }
  });
}

absl::Status Sweeps::NoSweep(const std::string& id) {
  return absl::NotFoundError(absl::StrCat("no sweep ", id));
}

std::int64_t Sweeps::NowMicros() const { return absl::ToUnixMicros(options_.clock->Now()); }

void Sweeps::Fault(std::string_view point) {
  if (options_.fault) options_.fault(point);
}

void Sweeps::Post(std::function<void()> work) {
  options_.loop->Post([work = std::move(work), alive = alive_] {
    if (*alive) work();
  });
}

Sweeps::Entry* Sweeps::EntryOf(const std::string& id) {
  const auto found = entries_.find(id);
  return found == entries_.end() ? nullptr : &found->second;
}

std::string Sweeps::FreeId() const {
  for (;;) {
    std::string id = runtime::RandomName("s-");
    if (!entries_.contains(id)) return id;
  }
}

msg::SweepT Sweeps::Shown(const Entry& entry) {
  if (entry.sweep != nullptr) {
    msg::SweepT now = SweepMessage(entry.record, *entry.sweep);
    if (now.reason.empty() && entry.optimiser != nullptr) {
      now.reason = entry.optimiser->WhyItWaits();
    }
    return now;
  }
  msg::SweepT shown = entry.record.summary;
  shown.id = entry.record.id;
  shown.name = entry.record.name;
  shown.created_us = entry.record.created_us;
  shown.ended_us = entry.record.ended_us;
  if (entry.record.ended_us == 0) shown.reason = "its events cannot be read now";
  return shown;
}

// Returns the loaded sweep; loads an ended one for this caller only.
absl::StatusOr<std::shared_ptr<Sweep>> Sweeps::AtHand(const Entry& entry) {
  if (entry.sweep != nullptr) return entry.sweep;
  auto loaded = Sweep::Load(entry.record, *options_.store);
  if (!loaded.ok()) return loaded.status();
  return std::shared_ptr<Sweep>(*std::move(loaded));
}

void Sweeps::LoadEngine(Entry& entry) {
  auto loaded = Sweep::Load(entry.record, *options_.store);
  LOG_IF(ERROR, !loaded.ok()) << "sweep " << entry.record.id << ": " << loaded.status();
  entry.sweep = loaded.ok() ? std::shared_ptr<Sweep>(*std::move(loaded)) : nullptr;
}

// Checks that the request for the first trial is valid and its directory is free.
absl::Status Sweeps::CheckTemplate(const SweepRecord& record, const Engine& engine) const {
  tuning::Config config;
  if (!engine.trials().empty()) {
    config = engine.trials().front().config;
  } else if (const auto question = engine.OpenQuestion()) {
    config = question->Answer().value_or(tuning::Config());
  }
  auto request = SweepTrialRequest(record, 0, config, "", options_.logdir, false);
  if (!request.ok()) return request.status();
  const auto spec = SpecFrom(*request, record.id, options_.logdir);
  if (!spec.ok()) return spec.status();
  return CheckDirectoryIsFree(spec->run_directory);
}

// ---- Actions.

// Call it after the sweep's engine was loaded.
void Sweeps::TakeUp(Entry& entry) {
  entry.is_lost = false;
  entry.todo.clear();
  entry.drafted.clear();
  WatchBudget(entry);
  CountEpochs(entry);
  const bool is_external = entry.sweep->engine().plan().method == tuning::Method::kExternal;
  if (is_external && entry.record.asked > 0 && CanRunOptimisers()) {
    entry.optimiser = Optimiser::Create(OptimiserOptionsOf(entry));
    entry.optimiser->EndEarlier();
  }
  for (std::uint64_t trial = 0; trial < entry.sweep->engine().trials().size(); ++trial) {
    LookAt(entry, trial);
    if (entry.sweep == nullptr) return;
  }
  Order(entry, entry.sweep->engine().Open());
}

// Call it when the store failed to write what the engine has applied.
void Sweeps::Lose(Entry& entry) {
  if (entry.record.ended_us != 0) return;
  entry.sweep = nullptr;
  entry.todo.clear();
  entry.drafted.clear();
  // (The optimiser may have received events that are not stored.)
  EndOptimiser(entry);
  RetryLater(entry);
}

void Sweeps::RetryLater(Entry& entry) {
  if (entry.retry_timer.is_set()) return;
  entry.retry_timer.Start(options_.loop, kRetry, [this, id = entry.record.id] {
    Entry& late = entries_.at(id);
    if (late.sweep != nullptr && !late.is_lost) return Act(late);
    if (late.sweep == nullptr) LoadEngine(late);
    if (late.sweep == nullptr) return RetryLater(late);
    TakeUp(late);
  });
}

// Schedules the actions for later: the caller may be inside a callback of the trials.
void Sweeps::Order(Entry& entry, const std::vector<Action>& actions) {
  entry.todo.insert(entry.todo.end(), actions.begin(), actions.end());
  if (entry.todo.empty() || std::exchange(entry.acts, true)) return;
  Post([this, id = entry.record.id] {
    Entry* const now = EntryOf(id);
    if (now == nullptr) return;
    now->acts = false;
    Act(*now);
  });
}

// Applies an event and queues the resulting actions. If the store fails to write it, the event is
// found again when the sweep is reloaded.
void Sweeps::Take(Entry& entry, Event event) {
  StoreBatch batch;
  const Engine::Outcome outcome = entry.sweep->Apply(std::move(event), NowMicros(), batch);
  if (outcome.changed) {
    if (const auto status = options_.store->Write(batch); !status.ok()) {
      LOG_EVERY_N(ERROR, 20) << "sweep " << entry.record.id << ": " << status;
      return Lose(entry);
    }
    Fault("sweep event stored");
    news_.TellLater(entry.record.id);
  }
  entry.todo.insert(entry.todo.end(), outcome.actions.begin(), outcome.actions.end());
}

void Sweeps::Act(Entry& entry) {
  if (entry.acts || trials_ == nullptr) return;
  entry.acts = true;
  while (entry.sweep != nullptr && !entry.todo.empty()) {
    const Action action = entry.todo.front();
    const absl::Status done = Do(entry, action);
    if (!done.ok()) {
      LOG_EVERY_N(ERROR, 20) << "sweep " << entry.record.id << " waits: " << done;
      RetryLater(entry);
      break;
    }
    if (entry.sweep != nullptr && !entry.todo.empty()) entry.todo.pop_front();
  }
  entry.acts = false;
}

// Executes an action. On error it is retried later. New actions are appended to `todo`.
absl::Status Sweeps::Do(Entry& entry, const Action& action) {
  const bool is_known = action.trial < entry.sweep->engine().trials().size();
  switch (action.kind) {
    case Action::Kind::kStart:
      return is_known ? StartTrial(entry, action) : absl::OkStatus();
    case Action::Kind::kResume:
      return is_known ? ResumeTrial(entry, action) : absl::OkStatus();
    case Action::Kind::kPause: {
      if (!is_known || entry.sweep->facts(action.trial).id.empty()) return absl::OkStatus();
      const auto paused =
          trials_->PauseTrial(entry.sweep->facts(action.trial).id, entry.record.trace);
      return MayTryAgain(paused.status()) ? paused.status() : absl::OkStatus();
    }
    case Action::Kind::kStop: {
      if (!is_known || entry.sweep->facts(action.trial).id.empty()) return absl::OkStatus();
      const auto stopped = trials_->StopBecause(entry.sweep->facts(action.trial).id, action.text,
                                                entry.record.trace);
      return MayTryAgain(stopped.status()) ? stopped.status() : absl::OkStatus();
    }
    case Action::Kind::kDrop: {
      if (!is_known || entry.sweep->facts(action.trial).id.empty()) return absl::OkStatus();
      const std::string& id = entry.sweep->facts(action.trial).id;
      const auto shown = trials_->Get(id);
      if (!shown.ok() || shown->checkpoint.empty()) return absl::OkStatus();
      const absl::Status dropped = trials_->RemoveCheckpoints(id);
      if (MayTryAgain(dropped)) return dropped;
      LOG_IF(WARNING, !dropped.ok()) << "sweep " << entry.record.id << ": " << dropped;
      return absl::OkStatus();
    }
    case Action::Kind::kAsk:
      return Ask(entry, action);
    case Action::Kind::kFinish:
      return Finish(entry);
    case Action::Kind::kNotice:
      LOG(INFO) << "sweep " << entry.record.id << ": " << runtime::Printable(action.text);
      return absl::OkStatus();
    case Action::Kind::kAnswer:
      return absl::OkStatus();
  }
  return absl::OkStatus();
}

absl::Status Sweeps::StartTrial(Entry& entry, const Action& action) {
  const Engine::Trial& trial = entry.sweep->engine().trials()[action.trial];
  if (trial.stage != Stage::kRunning || trial.is_started) return absl::OkStatus();
  const std::string from = action.from ? entry.sweep->facts(*action.from).id : "";
  const std::string& first = entry.sweep->facts(0).id;
  const bool first_is_gone = !first.empty() && absl::IsNotFound(trials_->Get(first).status());
  auto request = SweepTrialRequest(entry.record, action.trial, trial.config, from, options_.logdir,
                                   first_is_gone);
  if (!request.ok()) return TakeRefusal(entry, action, request.status());
  const auto started = trials_->Run(absl::StrCat(entry.record.id, "/", action.trial, "/1"),
                                    *request, entry.record.trace);
  if (MayTryAgain(started.status())) return started.status();
  Fault("sweep trial inserted");
  if (!started.ok()) return TakeRefusal(entry, action, started.status());
  Take(entry, {.kind = Event::Kind::kStarted,
               .trial = action.trial,
               .number = action.number,
               .text = started->id});
  // It may have ended already if an earlier trainer started it.
  if (entry.sweep != nullptr) LookAt(entry, action.trial);
  return absl::OkStatus();
}

absl::Status Sweeps::ResumeTrial(Entry& entry, const Action& action) {
  const Engine::Trial& trial = entry.sweep->engine().trials()[action.trial];
  if (trial.stage != Stage::kRunning || trial.is_started) return absl::OkStatus();
  const auto resumed = trials_->ResumeTrial(entry.sweep->facts(action.trial).id);
  // The trial is about to pause; it can be resumed after that.
  if (absl::IsFailedPrecondition(resumed.status()) && IsPausing(entry, action.trial)) {
    return resumed.status();
  }
  if (MayTryAgain(resumed.status())) return resumed.status();
  if (!resumed.ok()) return TakeRefusal(entry, action, resumed.status());
  const bool has_checkpoint = !resumed->checkpoint.empty();
  Take(entry, {.kind = Event::Kind::kStarted,
               .trial = action.trial,
               .number = action.number,
               .resource = has_checkpoint ? trial.resource : 0});
  if (entry.sweep != nullptr) LookAt(entry, action.trial);
  return absl::OkStatus();
}

bool Sweeps::IsPausing(const Entry& entry, std::uint64_t trial) const {
  const auto shown = trials_->Get(entry.sweep->facts(trial).id);
  return shown.ok() && shown->pause_requested && shown->state != msg::TrialState::Paused;
}

absl::Status Sweeps::TakeRefusal(Entry& entry, const Action& action, const absl::Status& why) {
  LOG(ERROR) << "sweep " << entry.record.id << " cannot start trial " << action.trial << ": "
             << why;
  Take(entry, {.kind = Event::Kind::kEnded,
               .trial = action.trial,
               .end = tuning::End::kFailed,
               .text = absl::StrCat("it could not be started: ", why.message())});
  return absl::OkStatus();
}

// Reports the trial's current state to its engine.
void Sweeps::LookAt(Entry& entry, std::uint64_t number) {
  const Engine::Trial& trial = entry.sweep->engine().trials()[number];
  const std::string& id = entry.sweep->facts(number).id;
  if (id.empty() || trials_ == nullptr) return;
  const auto shown = trials_->Get(id);
  // (The trial was told to pause before it was told to stop.)
  if (shown.ok() && shown->state == msg::TrialState::Paused &&
      trial.stage == Stage::kStoppedEarly) {
    entry.todo.push_back({.kind = Action::Kind::kStop, .trial = number, .text = trial.reason});
  }
  if (auto event = EventOfTrial(trial, number, shown)) Take(entry, *std::move(event));
}

// ---- Suggestions.

absl::Status Sweeps::Ask(Entry& entry, const Action& action) {
  if (entry.sweep->engine().plan().method == tuning::Method::kExternal) {
    AskOptimiser(entry);
    return absl::OkStatus();
  }
  EndOptimiser(entry);  // (The plan may have been changed.)
  auto question = entry.sweep->engine().OpenQuestion();
  if (!question || question->number != action.number ||
      questions_.IsAnswering(entry.record.id, action.number)) {
    return absl::OkStatus();
  }
  if (questions_.HasHadItsTries(entry.record, action.number)) {
    Take(entry,
         {.kind = Event::Kind::kFail,
          .text = absl::StrCat("its sampler has ended the trainer ", SweepQuestions::kMostTries,
                               " times at trial ", action.trial)});
    return absl::OkStatus();
  }
  return questions_.Ask(entry.record, *std::move(question));
}

void Sweeps::TakeSuggestion(const std::string& id, const tuning::Question& question,
                            const std::optional<tuning::Config>& config) {
  Entry* const entry = EntryOf(id);
  if (entry == nullptr || entry->sweep == nullptr) return;
  Take(*entry, {.kind = config ? Event::Kind::kSuggested : Event::Kind::kExhausted,
                .trial = question.trial,
                .number = question.number,
                .text = config ? tuning::ConfigText(*config) : ""});
  Act(*entry);
}

bool Sweeps::CanRunOptimisers() const {
  return options_.jobs != nullptr && options_.lines != nullptr;
}

void Sweeps::AskOptimiser(Entry& entry) {
  if (!CanRunOptimisers()) {
    return Take(entry,
                {.kind = Event::Kind::kFail, .text = "this trainer runs no external optimisers"});
  }
  if (entry.optimiser == nullptr) {
    entry.optimiser = Optimiser::Create(OptimiserOptionsOf(entry));
  }
  entry.optimiser->Ask();
}

Optimiser::Options Sweeps::OptimiserOptionsOf(const Entry& entry) {
  const std::string& id = entry.record.id;
  Optimiser::Options options = {.loop = options_.loop,
                                .jobs = options_.jobs,
                                .lines = options_.lines,
                                .relay = options_.relay,
                                .sweep_id = id,
                                .sweep_name = entry.record.name,
                                .trace = entry.record.trace,
                                .started_before = entry.record.asked};
  if (entry.record.request.trial != nullptr) options.trial = *entry.record.request.trial;
  options.store_start = [this, id](std::int64_t started) {
    Entry& now = entries_.at(id);
    SweepRecord changed = now.record;
    changed.asked = started;
    StoreBatch batch;
    batch.sweeps.push_back(changed);
    if (auto status = options_.store->Write(batch); !status.ok()) return status;
    now.record = std::move(changed);
    Fault("sweep optimiser stored");
    news_.TellLater(id);
    return absl::OkStatus();
  };
  options.engine = [this, id]() -> const Engine* {
    const Entry* const now = EntryOf(id);
    return now == nullptr || now->sweep == nullptr ? nullptr : &now->sweep->engine();
  };
  options.on_answer = [this, id](const tuning::Conversation::Answer& answer) {
    TakeAnswer(id, answer);
  };
  options.on_failed = [this, id](const std::string& why) {
    Entry* const now = EntryOf(id);
    if (now == nullptr || now->sweep == nullptr) return;
    Take(*now, {.kind = Event::Kind::kFail, .text = why});
    Act(*now);
  };
  return options;
}

// Returns true if this report has used up the budget. (If the store fails to write it, the sweep
// is reloaded and all reports are counted again.)
bool Sweeps::CountEpoch(Entry& entry, StoreBatch& batch) {
  const std::uint64_t most = entry.sweep->engine().plan().max_epochs;
  if (most == 0 || ++entry.epochs < most) return false;
  const Engine::Outcome outcome =
      entry.sweep->Apply({.kind = Event::Kind::kSpent,
                          .text = absl::StrCat("its budget of ", most, " epochs is spent")},
                         NowMicros(), batch);
  entry.drafted.insert(entry.drafted.end(), outcome.actions.begin(), outcome.actions.end());
  return outcome.changed;
}

void Sweeps::CountEpochs(Entry& entry) {
  entry.epochs = 0;
  if (trials_ == nullptr) return;
  for (std::uint64_t number = 0; number < entry.sweep->engine().trials().size(); ++number) {
    const auto shown = trials_->Get(entry.sweep->facts(number).id);
    if (shown.ok()) entry.epochs += static_cast<std::uint64_t>(shown->reports);
  }
}

// Called inside the relay's delivery of lines, so resulting actions run later.
void Sweeps::TakeAnswer(const std::string& id, const tuning::Conversation::Answer& answer) {
  Entry* const entry = EntryOf(id);
  if (entry == nullptr || entry->sweep == nullptr) return;
  using Meaning = tuning::Conversation::Answer::Kind;
  Event event = {.trial = answer.trial, .number = answer.number, .text = answer.text};
  event.kind = answer.kind == Meaning::kSuggested ? Event::Kind::kSuggested
               : answer.kind == Meaning::kRefused ? Event::Kind::kRefused
                                                  : Event::Kind::kExhausted;
  if (answer.kind == Meaning::kExhausted && event.text.empty()) {
    event.text = "its optimiser has nothing more to suggest";
  }
  Take(*entry, std::move(event));
  if (entry->sweep != nullptr) Order(*entry, {});
}

void Sweeps::EndOptimiser(Entry& entry) {
  std::erase_if(leaving_, [](const auto& optimiser) { return optimiser->HasLeft(); });
  if (entry.optimiser == nullptr) return;
  entry.optimiser->Stop();
  leaving_.push_back(std::exchange(entry.optimiser, nullptr));
}

// ---- The end of a sweep.

absl::Status Sweeps::Finish(Entry& entry) {
  if (entry.record.ended_us != 0) return absl::OkStatus();
  SweepRecord changed = entry.record;
  changed.ended_us = NowMicros();
  changed.summary = SweepMessage(changed, *entry.sweep);
  StoreBatch batch;
  batch.sweeps.push_back(changed);
  if (auto status = options_.store->Write(batch); !status.ok()) return status;
  Fault("sweep finished");
  entry.record = std::move(changed);
  EndOptimiser(entry);
  entry.budget_timer.Cancel();
  LOG(INFO) << "sweep " << entry.record.id << " is "
            << msg::EnumNameSweepState(entry.record.summary.state) << ": "
            << runtime::Printable(entry.record.summary.reason);
  news_.Tell(entry.record.id);
  entry.sweep = nullptr;
  entry.todo.clear();
  questions_.Drop(entry.record.id);
  return absl::OkStatus();
}

void Sweeps::WatchBudget(Entry& entry) {
  entry.budget_timer.Cancel();
  const std::uint64_t budget_ms = entry.record.request.time_budget_ms;
  if (budget_ms == 0) return;
  const absl::Duration budget = absl::Milliseconds(budget_ms);
  const absl::Duration used = options_.clock->Now() - absl::FromUnixMicros(entry.record.created_us);
  const absl::Duration left = std::max(absl::ZeroDuration(), budget - used);
  entry.budget_timer.Start(options_.loop, left, [this, id = entry.record.id, budget] {
    Entry& spent = entries_.at(id);
    if (spent.sweep == nullptr) return WatchBudget(spent);
    Take(spent, {.kind = Event::Kind::kSpent,
                 .text = absl::StrCat("its time of ", absl::FormatDuration(budget), " is spent")});
    Act(spent);
  });
}

void Sweeps::RemoveTrials(const std::string& id, const std::string& request_id,
                          std::deque<std::string> trials,
                          std::function<void(absl::StatusOr<msg::SweepT>)> done) {
  Entry* const entry = EntryOf(id);
  if (entry == nullptr || entry->record.ended_us == 0) {
    return done(absl::AbortedError(absl::StrCat("sweep ", id, " was resumed or removed")));
  }
  for (int i = 0; i < kRemovedPerTurn && !trials.empty(); ++i) {
    const auto removed =
        trials_->RemoveTrial(trials.front(), absl::StrCat(request_id, "/", trials.front()));
    if (!removed.ok() && !absl::IsNotFound(removed.status())) return done(removed.status());
    trials.pop_front();
  }
  if (!trials.empty()) {
    return Post([this, id, request_id, trials = std::move(trials), done = std::move(done)] {
      RemoveTrials(id, request_id, trials, done);
    });
  }
  if (auto status = options_.store->DeleteSweep(entry->record.number); !status.ok()) {
    return done(status);
  }
  const msg::SweepT was = Shown(*entry);
  if (removed_.size() >= kRemovalsKept) removed_.clear();
  removed_.emplace(request_id, was);
  news_.Drop(id);
  entries_.erase(id);
  std::erase(order_, id);
  done(was);
}

std::optional<SweepNews::Changes> Sweeps::ChangesOf(const std::string& id, std::int64_t after) {
  const Entry* const entry = EntryOf(id);
  if (entry == nullptr || entry->sweep == nullptr) return std::nullopt;
  return SweepNews::Changes{.sweep = Shown(*entry),
                            .trials = TrialsChangedAfter(entry->record, *entry->sweep, after),
                            .events = entry->sweep->events()};
}

absl::StatusOr<std::unique_ptr<Sweeps>> Sweeps::Open(Options options) {
  auto sweeps = std::unique_ptr<Sweeps>(new Sweeps(std::move(options)));
  if (auto status = sweeps->Load(); !status.ok()) return status;
  return sweeps;
}

}  // namespace trainer
