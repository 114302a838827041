// Invariants after Apply(): a running sweep has an active trial or an open question (otherwise it
// has ended); no more trials are active than Plan::parallel allows, unless it was lowered; and the
// actions that were ordered but not confirmed follow from the state (Open()). A trial's checkpoints
// are dropped (kDrop) only after it has ended, once every trial that starts from them has reported,
// and never those of the best trial.
//
// Nothing here may depend on an event that changed nothing: such events are not stored.

#include "tuning/engine/engine.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tuning/analysis/front.h"
#include "tuning/engine/engine_event.h"
#include "tuning/engine/judgement_text.h"
#include "tuning/engine/metric_values.h"
#include "tuning/engine/plan.h"
#include "tuning/engine/population.h"
#include "tuning/engine/question.h"
#include "tuning/sample/sampler.h"
#include "tuning/space/config.h"
#include "tuning/space/constraint.h"
#include "tuning/space/space.h"
#include "tuning/stop/stopping_rule.h"

namespace tuning {
namespace {

using Actions = std::vector<Action>;

// So many consecutive invalid suggestions end the sweep.
constexpr std::uint64_t kMostRefused = 100;
// How often a population draws other values until the constraints allow them.
constexpr std::uint64_t kMostExplored = 64;

bool IsActive(const Engine::Trial& trial) { return trial.stage == Engine::Stage::kRunning; }
bool IsSettled(const Engine::Trial& trial) {
  return !IsActive(trial) && trial.stage != Engine::Stage::kWaiting;
}

std::string Number(double value) { return absl::StrFormat("%.6g", value); }

}  // namespace

absl::StatusOr<Engine> Engine::Create(std::shared_ptr<const Plan> plan) {
  Engine engine(std::move(plan));
  if (auto prepared = engine.Prepare(); !prepared.ok()) return prepared;
  return engine;
}

absl::Status Engine::Prepare() {
  if (auto checked = CheckPlan(*plan_); !checked.ok()) return checked;
  auto rule = MakeStoppingRule(*plan_);
  if (!rule.ok()) return rule.status();
  auto sampler = MakeSampler(*plan_);
  if (!sampler.ok()) return sampler.status();
  rule_ = *std::move(rule);
  sampler_ = *std::move(sampler);
  return absl::OkStatus();
}

Engine::Engine(const Engine& other)
    : plan_(other.plan_),
      sampler_(other.sampler_),
      rule_(other.rule_ == nullptr ? nullptr : other.rule_->Clone()),
      members_(other.members_),
      founders_(other.founders_),
      left_(other.left_),
      events_(other.events_),
      state_(other.state_),
      drains_(other.drains_),
      goal_(other.goal_),
      reason_(other.reason_),
      trials_(other.trials_),
      active_(other.active_),
      question_(other.question_),
      waiting_(other.waiting_),
      enqueued_(other.enqueued_),
      known_(other.known_),
      exhausted_(other.exhausted_),
      failed_(other.failed_),
      failed_before_(other.failed_before_),
      in_a_row_(other.in_a_row_),
      first_in_a_row_(other.first_in_a_row_),
      first_open_(other.first_open_),
      asked_(other.asked_),
      told_(other.told_),
      changes_(other.changes_),
      refused_in_a_row_(other.refused_in_a_row_) {}

Engine& Engine::operator=(const Engine& other) { return *this = Engine(other); }

Engine::Outcome Engine::Apply(const EngineEvent& event) {
  Outcome outcome;
  ++events_;
  switch (event.kind) {
    case EngineEvent::Kind::kBegin:
      Begin(outcome);
      break;
    case EngineEvent::Kind::kSuggested:
      TakeSuggested(event, outcome);
      break;
    case EngineEvent::Kind::kExhausted:
      TakeExhausted(event, outcome);
      break;
    case EngineEvent::Kind::kStarted:
      TakeStarted(event, outcome);
      break;
    case EngineEvent::Kind::kReported:
      TakeReported(event, outcome);
      break;
    case EngineEvent::Kind::kEnded:
      TakeEnded(event, outcome);
      break;
    case EngineEvent::Kind::kPause:
      TakePause(event, outcome);
      break;
    case EngineEvent::Kind::kResume:
      TakeResume(event, outcome);
      break;
    case EngineEvent::Kind::kStop:
      TakeStop(event, outcome);
      break;
    case EngineEvent::Kind::kChange:
      TakeChange(event, outcome);
      break;
    case EngineEvent::Kind::kEnqueue:
      TakeEnqueue(event, outcome);
      break;
    case EngineEvent::Kind::kLearn:
      TakeLearn(event, outcome);
      break;
    case EngineEvent::Kind::kSpent:
      TakeSpent(event, outcome);
      break;
    case EngineEvent::Kind::kFail:
      TakeFail(event, outcome);
      break;
    case EngineEvent::Kind::kRefused:
      TakeRefused(event, outcome);
      break;
    case EngineEvent::Kind::kMeasured:
      TakeMeasured(event, outcome);
      break;
  }
  if (outcome.changed) {
    Drop(outcome.actions);
    Fill(outcome.actions);
  } else {
    --events_;
  }
  return outcome;
}

void Engine::Begin(Outcome& outcome) {
  if (state_ != State::kNew) return;
  state_ = State::kRunning;
  outcome.changed = true;
  if (plan_->method != Method::kReplay) return;
  enqueued_.assign(1, plan_->schedule.front().config);
}

std::uint64_t Engine::Add(Config config) {
  const std::uint64_t number = trials_.size();
  Trial trial = {.config = std::move(config), .suggested = events_};
  const auto point = PointOf(*plan_->space, trial.config);
  if (point.ok()) trial.point = *point;
  trial.member = founders_++;
  trials_.push_back(std::move(trial));
  waiting_.push_back(number);
  return number;
}

void Engine::TakeSuggested(const EngineEvent& event, Outcome& outcome) {
  if (!question_ || question_->trial != event.trial || question_->number != event.number) return;
  auto config = ParseConfig(event.text);
  if (config.ok() && !PointOf(*plan_->space, *config).ok()) {
    config = PointOf(*plan_->space, *config).status();
  }
  if (!config.ok()) {
    // The suggestion came from elsewhere; the question stays open.
    outcome.actions.push_back(
        {.kind = Action::Kind::kNotice,
         .trial = event.trial,
         .text = absl::StrCat("the suggestion for trial ", event.trial,
                              " is not taken: ", std::string(config.status().message()))});
    return;
  }
  outcome.changed = true;
  const bool is_external = plan_->method == Method::kExternal;
  if (is_external) asked_.push_back({event.trial, event.number, *config});
  question_.reset();
  refused_in_a_row_ = 0;
  trials_[Add(*std::move(config))].is_asked_for = is_external;
}

void Engine::TakeRefused(const EngineEvent& event, Outcome& outcome) {
  if (!question_ || question_->trial != event.trial || question_->number != event.number) return;
  outcome.changed = true;
  asked_.push_back({.trial = event.trial, .number = event.number, .refused = event.text});
  if (++refused_in_a_row_ >= kMostRefused) {
    return Conclude(State::kFailed,
                    absl::StrCat("its optimiser has suggested ", refused_in_a_row_,
                                 " times in a row what cannot be tried, last: ", event.text),
                    outcome.actions);
  }
  // The question is asked again.
  question_->number = events_;
  outcome.actions.push_back(
      {.kind = Action::Kind::kAsk, .trial = question_->trial, .number = question_->number});
}

absl::StatusOr<Config> Engine::Check(std::string_view suggestion) const {
  auto config = ParseConfig(suggestion);
  if (!config.ok()) return config.status();
  for (const auto& [name, value] : *config) {
    if (!plan_->space->Find(name)) {
      return absl::InvalidArgumentError(absl::StrCat("there is no parameter ", name));
    }
  }
  const auto point = PointOf(*plan_->space, *config);
  if (!point.ok()) return point.status();
  Config whole = ConfigOf(*plan_->space, *point, plan_->constants);
  if (const Constraint* const broken = FindBroken(plan_->constraints, whole)) {
    return absl::InvalidArgumentError(
        absl::StrCat("it does not meet the constraint ", broken->text()));
  }
  if (plan_->duplicates) return whole;
  for (std::size_t number = 0; number < trials_.size(); ++number) {
    if (trials_[number].config != whole) continue;
    return absl::AlreadyExistsError(absl::StrCat("trial ", number, " has tried it"));
  }
  return whole;
}

std::optional<std::pair<std::uint64_t, std::uint64_t>> Engine::AskedNow() const {
  if (!question_) return std::nullopt;
  return std::pair(question_->trial, question_->number);
}

// Tells an external optimiser about a finished trial.
void Engine::Tell(std::uint64_t number) {
  Trial& trial = trials_[number];
  if (plan_->method != Method::kExternal || !trial.point || trial.standings.empty()) return;
  const TrialState state = trial.standings.back().state;
  const bool has_value =
      state != TrialState::kFailed && MissingObjective(*plan_, trial.value, trial.others).empty();
  const bool was_asked_for = std::exchange(trial.is_asked_for, false);
  if (!was_asked_for && !has_value) return;
  told_.push_back({.since = events_,
                   .trial = number,
                   .is_asked_for = was_asked_for,
                   .config = trial.config,
                   .state = state,
                   .value = has_value ? trial.value : std::nullopt,
                   .second = has_value ? SecondOf(*plan_, trial.others) : std::nullopt,
                   .resource = trial.resource,
                   .excesses = trial.standings.back().excesses});
}

// Tells the optimiser of a changed plan everything that is known.
void Engine::TellAgain() {
  ++changes_;
  refused_in_a_row_ = 0;
  asked_.clear();
  told_.clear();
  if (plan_->method != Method::kExternal) return;
  for (const Known& known : known_) {
    if (!known.point) continue;
    told_.push_back({.since = events_,
                     .config = known.config,
                     .value = Signed(known.value),
                     .second = SecondOf(*plan_, known.others)});
  }
  for (std::uint64_t number = 0; number < trials_.size(); ++number) {
    trials_[number].is_asked_for = false;
    if (IsSettled(trials_[number]) && trials_[number].stage != Stage::kPaused) Tell(number);
  }
}

void Engine::TakeExhausted(const EngineEvent& event, Outcome& outcome) {
  if (!question_ || question_->trial != event.trial || question_->number != event.number) return;
  outcome.changed = true;
  question_.reset();
  if (plan_->method == Method::kExternal) {
    asked_.push_back({.trial = event.trial, .number = event.number, .is_exhausted = true});
  }
  exhausted_ = event.text.empty() ? absl::StrCat("all ", trials_.size(), " combinations were tried")
                                  : event.text;
}

void Engine::TakeStarted(const EngineEvent& event, Outcome& outcome) {
  if (event.trial >= trials_.size()) return;
  Trial& trial = trials_[event.trial];
  // A user has resumed a paused or ended trial.
  if (trial.stage != Stage::kRunning && event.number > trial.attempt && IsOpenEnded()) {
    std::erase(waiting_, event.trial);
    trial.stage = Stage::kRunning;
    trial.answer = TrialDecision::kContinue;
    trial.attempt = event.number;
    trial.is_started = true;
    trial.is_dropped = false;
    left_.erase(event.trial);
    ++active_;
    first_open_ = std::min(first_open_, static_cast<std::size_t>(event.trial));
    outcome.changed = true;
    return;
  }
  if (trial.stage != Stage::kRunning || trial.is_started || trial.attempt != event.number) {
    return;
  }
  trial.is_started = true;
  outcome.changed = true;
  const bool lost = event.number > 1 && event.resource == 0 && trial.resource > 0;
  if (!lost || rule_ == nullptr || plan_->stopping != Stopping::kAshaPromotion) return;
  rule_->StopInstead();
  outcome.actions.push_back(
      {.kind = Action::Kind::kNotice,
       .trial = event.trial,
       .text = absl::StrCat("trial ", event.trial,
                            " had no checkpoint and began anew: from now on trials are stopped "
                            "early, and not paused")});
}

// Returns the member's newest running trial.
std::optional<std::uint64_t> Engine::DonorOf(std::uint64_t member) const {
  for (std::uint64_t number = trials_.size(); number-- > 0;) {
    const Trial& trial = trials_[number];
    if (trial.member == member && trial.stage == Stage::kRunning && trial.point) return number;
  }
  return std::nullopt;
}

// Returns values near the donor's for the next trial. (The donor's own if constraints allow none.)
Config Engine::Explored(std::uint64_t donor) const {
  for (std::uint64_t i = 0; i < kMostExplored; ++i) {
    const Point point = Explore(*plan_->space, *trials_[donor].point, plan_->seed + i,
                                trials_.size(), plan_->population.resample);
    Config whole = ConfigOf(*plan_->space, point, plan_->constants);
    if (Allow(plan_->constraints, whole)) return whole;
  }
  return ConfigOf(*plan_->space, *trials_[donor].point, plan_->constants);
}

// Returns the configuration of the trial that takes over.
absl::StatusOr<Config> Engine::ConfigOfClone(const EngineEvent& event, std::uint64_t donor) const {
  // (The trial started with these values, but the first version did not store them.)
  if (event.decided && event.number == 0) return Explored(donor);
  // (In the form in which a stored one is read, where numbers are spelled differently.)
  return ParseConfig(event.decided ? event.text : ConfigText(Explored(donor)));
}

// For a member of a population: returns whether the trial continues. If not, a new trial continues
// for its member.
TrialDecision Engine::TakeOver(std::uint64_t number, const EngineEvent& event, double value,
                               Outcome& outcome) {
  const Trial& trial = trials_[number];
  // (The trial of an open question has its number already.)
  const bool has_room =
      !question_ && (plan_->max_trials == 0 || trials_.size() < plan_->max_trials);
  const bool has_no_donor = event.decided == TrialDecision::kStop && event.number == 0;
  const auto donor_member = members_.Look(
      plan_->population, plan_->seed, trial.member, trial.generation, event.resource, value,
      has_no_donor ? Members::Ranking::kByLatestValues : Members::Ranking::kAtSharedPoints);
  if (event.decided && *event.decided == TrialDecision::kContinue) return TrialDecision::kContinue;
  const bool is_known = event.decided && event.number > 0 && event.number <= trials_.size();
  if (!is_known && (!donor_member || !has_room)) return TrialDecision::kContinue;
  const auto donor = is_known ? std::optional(event.number - 1) : DonorOf(*donor_member);
  if (!donor || *donor == number) return TrialDecision::kContinue;
  if (!event.decided && !trials_[*donor].saves) {
    outcome.actions.push_back(
        {.kind = Action::Kind::kNotice,
         .trial = number,
         .text = absl::StrCat("trial ", number, " goes on: trial ", *donor,
                              ", which is better, has no checkpoint to take over")});
    return TrialDecision::kContinue;
  }
  return GoOnIn(number, *donor, ConfigOfClone(event, *donor), outcome);
}

// Returns whether the trial continues. If not, a trial with the schedule's next configuration
// continues from its checkpoint.
TrialDecision Engine::FollowSchedule(std::uint64_t number, const EngineEvent& event,
                                     Outcome& outcome) {
  const Trial& trial = trials_[number];
  const std::size_t next = trial.generation + 1;
  if (event.decided && *event.decided == TrialDecision::kContinue) return TrialDecision::kContinue;
  if (!event.decided && !trial.saves) {
    outcome.actions.push_back({.kind = Action::Kind::kNotice,
                               .trial = number,
                               .text = absl::StrCat("trial ", number, " goes on: it has no ",
                                                    "checkpoint for the next of the schedule")});
    return TrialDecision::kContinue;
  }
  const bool is_known = event.number > 0;
  return GoOnIn(number, number,
                ParseConfig(is_known ? event.text : ConfigText(plan_->schedule[next].config)),
                outcome);
}

// Stops the trial, and continues with `config` in a new trial that starts from the donor's
// checkpoint.
TrialDecision Engine::GoOnIn(std::uint64_t number, std::uint64_t donor,
                             absl::StatusOr<Config> config, Outcome& outcome) {
  if (!config.ok()) return TrialDecision::kContinue;
  outcome.donor = donor + 1;
  outcome.config = ConfigText(*config);
  const std::uint64_t member = trials_[number].member, generation = trials_[number].generation;
  // (A donor that has not reported yet is at the resource where it started.)
  const double from_resource = std::max(trials_[donor].resource, trials_[donor].from_resource);
  Add(*std::move(config));
  --founders_;
  Trial& clone = trials_.back();
  clone.member = member;
  clone.generation = generation + 1;
  clone.from = donor;
  clone.from_resource = from_resource;
  if (plan_->method == Method::kPbt) members_.TakeOver(member, trials_[donor].member);
  return TrialDecision::kStop;
}

// Returns true if another trial may still start from its checkpoint.
bool Engine::IsNeeded(std::uint64_t number) const {
  if (Best() == number) return true;
  return std::any_of(trials_.begin(), trials_.end(), [&](const Trial& other) {
    const bool is_to_begin = other.stage == Stage::kWaiting || other.stage == Stage::kRunning ||
                             other.stage == Stage::kPaused;
    return other.from == number && is_to_begin && !other.has_reported;
  });
}

// Drops the checkpoints of trials that were taken over, except those of the best trial.
void Engine::Drop(Actions& actions) {
  for (auto place = left_.begin(); place != left_.end();) {
    const std::uint64_t number = *place;
    if (IsNeeded(number)) {
      ++place;
      continue;
    }
    trials_[number].is_dropped = true;
    actions.push_back({.kind = Action::Kind::kDrop, .trial = number});
    place = left_.erase(place);
  }
}

Judgement Engine::Judge(Trial& trial, const EngineEvent& event, double value, Outcome& outcome) {
  if (plan_->method == Method::kPbt) {
    Judgement judgement;
    if (!members_.IsDue(plan_->population, trial.member, event.resource)) return judgement;
    judgement.changed = true;
    trial.resource = event.resource;
    judgement.answer = TakeOver(event.trial, event, value, outcome);
    return judgement;
  }
  if (plan_->method == Method::kReplay) {
    const std::size_t next = trial.generation + 1;
    Judgement judgement;
    if (next >= plan_->schedule.size() || event.resource < plan_->schedule[next].from) {
      return judgement;
    }
    // (A stored event must have changed something.)
    if (!event.decided && !trial.saves && trial.waits_to_save) return judgement;
    judgement.changed = true;
    trial.resource = event.resource;
    judgement.answer = FollowSchedule(event.trial, event, outcome);
    trial.waits_to_save = judgement.answer == TrialDecision::kContinue;
    return judgement;
  }
  if (rule_ == nullptr) return {};
  return rule_->Report(event.trial, event.resource, value, event.decided);
}

// Returns true if it changes the known values.
bool Engine::TakeOthers(const EngineEvent& event, Trial& trial) {
  bool changed = false;
  trial.others.resize(std::max(trial.others.size(), event.others.size()));
  for (std::size_t i = 0; i < event.others.size(); ++i) {
    if (!event.others[i]) continue;
    const double value = *event.others[i];
    std::optional<double>& known = trial.others[i];
    const bool keeps_best = i == 0 && plan_->second && !plan_->second->last;
    // (NaN never equals NaN: that costs an event, but is harmless.)
    const bool is_news =
        keeps_best ? !std::isnan(value) &&
                         (!known || (plan_->second->maximize ? value > *known : value < *known))
                   : !known || *known != value;
    if (is_news) known = value;
    changed = changed || is_news;
  }
  return changed;
}

void Engine::TakeMeasured(const EngineEvent& event, Outcome& outcome) {
  if (event.trial >= trials_.size() || !IsActive(trials_[event.trial])) return;
  outcome.changed = TakeOthers(event, trials_[event.trial]);
  if (outcome.changed) CheckTarget(event.trial, outcome);
}

void Engine::TakeReported(const EngineEvent& event, Outcome& outcome) {
  if (event.trial >= trials_.size()) return;
  Action answer = {.kind = Action::Kind::kAnswer, .trial = event.trial};
  if (!IsActive(trials_[event.trial]) || state_ == State::kStopping) {
    // (A trial of an ended sweep may be resumed: it then runs on its own.)
    if (IsActive(trials_[event.trial])) answer.answer = TrialDecision::kStop;
    if (IsActive(trials_[event.trial])) answer.text = reason_;
    outcome.decided = answer.answer;
    outcome.actions.push_back(std::move(answer));
    return;
  }
  // The reference stays valid, because appending to a deque does not move its elements.
  Trial& trial = trials_[event.trial];
  const double value = Signed(event.value);
  const bool saves_first = HasChains() && event.whether && !trial.saves;
  trial.saves = trial.saves || event.whether;
  const Judgement judgement = Judge(trial, event, value, outcome);
  outcome.changed = judgement.changed || saves_first;
  if (TakeOthers(event, trial)) outcome.changed = true;
  // (A trial that has taken over needs its donor's checkpoint until it has started.)
  if (!std::exchange(trial.has_reported, true) && trial.from) outcome.changed = true;
  const bool is_better = !std::isnan(event.value) && (!trial.value || value < Signed(*trial.value));
  if (plan_->metric.last ? !trial.value || *trial.value != event.value : is_better) {
    // (NaN never equals NaN: that costs an event, but is harmless.)
    trial.value = event.value;
    outcome.changed = true;
  }
  if (!trial.is_started) {
    trial.is_started = true;
    outcome.changed = true;
  }
  answer.answer = event.decided.value_or(judgement.answer);
  outcome.decided = answer.answer;
  if (outcome.changed) {
    trial.resource = event.resource;
    trial.answer = answer.answer;
  }
  if (answer.answer != TrialDecision::kContinue) {
    trial.reason = HasChains()
                       ? absl::StrCat("trial ", trials_.size() - 1, " takes over from trial ",
                                      trials_.back().from.value_or(0))
                       : JudgementText(*plan_, judgement, trial.value.has_value());
    answer.text = trial.reason;
  }
  outcome.actions.push_back(std::move(answer));
  CheckTarget(event.trial, outcome);
}

// Ends the sweep if the trial has reached the target and meets all constraints. Called after any
// report that may have caused this.
void Engine::CheckTarget(std::uint64_t number, Outcome& outcome) {
  const Trial& trial = trials_[number];
  const auto& target = plan_->metric.target;
  if (!target || !trial.value || std::isnan(*trial.value) || !IsOpenEnded()) return;
  if (Signed(*trial.value) > Signed(*target) || !MeetsAll(trial)) return;
  outcome.changed = true;
  Conclude(State::kDone,
           absl::StrCat("trial ", number, " has reached the target: ", plan_->metric.name, " ",
                        Number(*trial.value)),
           outcome.actions);
}

bool Engine::MeetsAll(const Trial& trial) const {
  const auto excesses = Excesses(*plan_, trial.config, trial.value, trial.others);
  return std::all_of(excesses.begin(), excesses.end(),
                     [](const std::optional<double>& excess) { return excess && *excess <= 0; });
}

std::string Engine::Breaks(const Trial& trial) const {
  const auto excesses = Excesses(*plan_, trial.config, trial.value, trial.others);
  std::string text;
  for (std::size_t i = 0; i < excesses.size(); ++i) {
    const bool is_over = !trial.standings.empty();
    if (excesses[i] ? *excesses[i] <= 0 : !is_over) continue;
    absl::StrAppend(&text, text.empty() ? "" : "; ", plan_->metric_constraints[i].text(),
                    excesses[i] ? "" : " (not reported)");
  }
  return text;
}

void Engine::AddStanding(Trial& trial, TrialState state) {
  if (state == TrialState::kStoppedEarly &&
      !MissingObjective(*plan_, trial.value, trial.others).empty())
    state = TrialState::kFailed;
  trial.standings.push_back(
      {.since = events_,
       .state = state,
       .value = trial.value ? Signed(*trial.value) : std::numeric_limits<double>::quiet_NaN(),
       .resource = trial.resource});
  SetFurtherValues(trial);
}

// Sets the values of further metrics in the trial's last standing.
void Engine::SetFurtherValues(Trial& trial) const {
  Standing& standing = trial.standings.back();
  standing.second = SignedSecond(*plan_, trial.others);
  standing.excesses.clear();
  if (standing.state == TrialState::kFailed) return;
  for (const auto& excess : Excesses(*plan_, trial.config, trial.value, trial.others)) {
    standing.excesses.push_back(excess.value_or(std::numeric_limits<double>::infinity()));
  }
}

void Engine::TakeEnded(const EngineEvent& event, Outcome& outcome) {
  if (event.trial >= trials_.size()) return;
  Trial& trial = trials_[event.trial];
  if (trial.stage == Stage::kPaused && event.end != End::kPaused) {
    // A user has stopped a paused trial.
    outcome.changed = true;
    return DropPaused(event.trial, event.text, outcome.actions);
  }
  if (!IsActive(trial)) return;
  outcome.changed = true;
  --active_;
  trial.is_started = true;
  if (trial.reason.empty() || event.end == End::kFailed) trial.reason = event.text;
  const bool by_rule = trial.answer != TrialDecision::kContinue;
  bool failed = event.end == End::kFailed;
  const std::string missing = MissingObjective(*plan_, trial.value, trial.others);
  if (event.end == End::kDone && !missing.empty()) {
    const bool had_nothing_to_do = trial.from && !trial.has_reported;
    failed = !had_nothing_to_do;
    trial.reason = failed ? missing
                          : absl::StrCat("trial ", *trial.from, " was at its end when this one ",
                                         "took over from it");
  }
  if (failed) {
    trial.stage = Stage::kFailed;
    AddStanding(trial, TrialState::kFailed);
  } else if (event.end == End::kDone) {
    trial.stage = Stage::kDone;
    AddStanding(trial, TrialState::kDone);
  } else if (event.end == End::kPaused) {
    trial.stage = Stage::kPaused;
    if (by_rule) AddStanding(trial, TrialState::kStoppedEarly);
    // (The sweep was resumed before the trial had paused.)
    const bool is_late = !by_rule && trial.is_told_to_pause && state_ == State::kRunning;
    if (is_late) Meet(event.trial, true, outcome.actions);
    // (The trial was told to pause before it was told to stop.)
    if (trial.answer == TrialDecision::kStop)
      DropPaused(event.trial, trial.reason, outcome.actions);
    if (trial.fate && trial.stage == Stage::kPaused) {
      Meet(event.trial, *trial.fate, outcome.actions);
    }
    trial.fate.reset();
  } else {
    trial.stage = by_rule ? Stage::kStoppedEarly : Stage::kStopped;
    AddStanding(trial, TrialState::kStoppedEarly);
  }
  if (rule_ != nullptr && IsSettled(trial) && trial.stage != Stage::kPaused)
    rule_->End(event.trial);
  if (HasChains() && trial.stage == Stage::kStoppedEarly) {
    left_.insert(event.trial);
  } else if (plan_->method == Method::kPbt && trial.stage != Stage::kPaused) {
    members_.Remove(trial.member);
  }
  if (IsSettled(trial) && trial.stage != Stage::kPaused) Tell(event.trial);
  if (failed) return CountFailure(event.trial, outcome.actions);
  if (trial.stage != Stage::kStopped && trial.stage != Stage::kPaused) {
    in_a_row_ = 0;
    first_in_a_row_.reset();
  }
}

void Engine::CountFailure(std::uint64_t number, Actions& actions) {
  ++failed_;
  ++in_a_row_;
  if (!first_in_a_row_) first_in_a_row_ = number;
  if (!IsOpenEnded()) return;
  const std::uint64_t counted = failed_ - failed_before_;
  const bool in_a_row =
      plan_->max_failures_in_a_row > 0 && in_a_row_ >= plan_->max_failures_in_a_row;
  if (!in_a_row && (plan_->max_failures == 0 || counted < plan_->max_failures)) return;
  const std::uint64_t shown = in_a_row ? *first_in_a_row_ : number;
  std::string reason =
      absl::StrCat(in_a_row ? in_a_row_ : counted, " trials", in_a_row ? " in a row" : "",
                   " have failed, ", in_a_row ? "first" : "last", " trial ", shown);
  if (!trials_[shown].reason.empty()) absl::StrAppend(&reason, ": ", trials_[shown].reason);
  Conclude(State::kFailed, std::move(reason), actions);
}

void Engine::Conclude(State state, std::string reason, Actions& actions) {
  state_ = State::kStopping;
  goal_ = state;
  reason_ = std::move(reason);
  question_.reset();
  for (const std::uint64_t number : waiting_) {
    Trial& trial = trials_[number];
    // (A trial that was to be resumed keeps its checkpoint.)
    trial.stage = trial.attempt > 0 ? Stage::kPaused : Stage::kStopped;
    if (trial.attempt == 0) trial.reason = reason_;
  }
  waiting_.clear();
  for (std::uint64_t number = 0; number < trials_.size(); ++number) {
    if (!IsActive(trials_[number])) continue;
    actions.push_back({.kind = Action::Kind::kStop, .trial = number, .text = reason_});
  }
}

void Engine::DropPaused(std::uint64_t number, std::string reason, Actions& actions) {
  Trial& trial = trials_[number];
  trial.stage = Stage::kStoppedEarly;
  if (trial.reason.empty() || !reason.empty()) trial.reason = reason;
  if (rule_ != nullptr) rule_->End(number);
  if (trial.standings.empty()) AddStanding(trial, TrialState::kStoppedEarly);
  Tell(number);
  actions.push_back({.kind = Action::Kind::kStop, .trial = number, .text = std::move(reason)});
}

void Engine::TakePause(const EngineEvent& event, Outcome& outcome) {
  if (state_ != State::kRunning) return;
  outcome.changed = true;
  state_ = State::kPaused;
  drains_ = event.whether;
  if (drains_) return;
  for (std::uint64_t number = 0; number < trials_.size(); ++number) {
    if (!IsActive(trials_[number])) continue;
    trials_[number].is_told_to_pause = true;
    outcome.actions.push_back({.kind = Action::Kind::kPause, .trial = number});
  }
}

void Engine::TakeResume(const EngineEvent& event, Outcome& outcome) {
  if (state_ == State::kNew || state_ == State::kStopping) return;
  if (state_ == State::kRunning && !event.whether) return;
  outcome.changed = true;
  state_ = State::kRunning;
  reason_.clear();
  exhausted_.clear();
  failed_before_ = failed_;
  in_a_row_ = 0;
  first_in_a_row_.reset();
  for (std::uint64_t number = 0; number < trials_.size(); ++number) {
    Trial& trial = trials_[number];
    const bool was_paused = trial.stage == Stage::kPaused && trial.answer != TrialDecision::kPause;
    if (!was_paused && !(event.whether && trial.stage == Stage::kFailed)) continue;
    trial.stage = Stage::kWaiting;
    trial.reason.clear();
    waiting_.push_back(number);
    first_open_ = std::min(first_open_, static_cast<std::size_t>(number));
  }
}

void Engine::TakeStop(const EngineEvent& event, Outcome& outcome) {
  if (!IsOpenEnded()) return;
  outcome.changed = true;
  Conclude(State::kStopped, event.text.empty() ? "stopped" : event.text, outcome.actions);
}

void Engine::TakeFail(const EngineEvent& event, Outcome& outcome) {
  if (!IsOpenEnded()) return;
  outcome.changed = true;
  Conclude(State::kFailed, event.text, outcome.actions);
}

void Engine::TakeSpent(const EngineEvent& event, Outcome& outcome) {
  if (!IsOpenEnded() || !exhausted_.empty()) return;
  outcome.changed = true;
  exhausted_ = event.text.empty() ? "its budget is spent" : event.text;
  question_.reset();
  enqueued_.clear();
}

void Engine::TakeChange(const EngineEvent& event, Outcome& outcome) {
  if (event.plan == nullptr || state_ == State::kStopping) return;
  if (plan_->method == Method::kReplay || event.plan->method == Method::kReplay) {
    outcome.actions.push_back({.kind = Action::Kind::kNotice,
                               .text = "a schedule is followed as it is: begin another sweep"});
    return;
  }
  Engine changed(event.plan);
  if (!changed.Prepare().ok()) return;
  outcome.changed = true;
  const bool same_rule = HaveSameRule(*plan_, *event.plan);
  const std::vector<std::string> before = OtherMetrics(*plan_), now = OtherMetrics(*event.plan);
  plan_ = event.plan;
  sampler_ = std::move(changed.sampler_);
  // (A rule with other levels cannot use the old rule's knowledge; the same rule keeps it.)
  if (!same_rule) rule_ = std::move(changed.rule_);
  exhausted_.clear();
  std::size_t fit = 0, ended = 0;
  const auto place = [&](const Config& config) {
    const auto point = PointOf(*plan_->space, config);
    return point.ok() ? std::optional(*point) : std::nullopt;
  };
  // Puts the values of further metrics into the new order.
  const auto arrange = [&](std::vector<std::optional<double>>& others) {
    std::vector<std::optional<double>> arranged(now.size());
    for (std::size_t i = 0; i < now.size(); ++i) {
      const auto old = static_cast<std::size_t>(std::find(before.begin(), before.end(), now[i]) -
                                                before.begin());
      if (old < others.size()) arranged[i] = others[old];
    }
    others = std::move(arranged);
  };
  for (Trial& trial : trials_) {
    trial.point = place(trial.config);
    arrange(trial.others);
    if (trial.standings.empty()) continue;
    SetFurtherValues(trial);
    ++ended;
    fit += trial.point ? 1 : 0;
  }
  for (Known& known : known_) {
    known.point = place(known.config);
    arrange(known.others);
  }
  TellAgain();
  outcome.actions.push_back({.kind = Action::Kind::kNotice,
                             .text = absl::StrCat("of ", ended, " trials with a result ", fit,
                                                  " fit the new space, and count")});
  if (question_ && plan_->max_trials > 0 && question_->trial >= plan_->max_trials) {
    question_.reset();
  }
  // An open question is asked again, for the new space.
  if (question_) {
    question_->number = events_;
    outcome.actions.push_back(
        {.kind = Action::Kind::kAsk, .trial = question_->trial, .number = question_->number});
  }
}

void Engine::TakeEnqueue(const EngineEvent& event, Outcome& outcome) {
  auto config = ParseConfig(event.text);
  if (!config.ok()) return;
  const auto point = PointOf(*plan_->space, *config);
  if (!point.ok()) {
    outcome.actions.push_back(
        {.kind = Action::Kind::kNotice,
         .text = absl::StrCat("it is not tried: ", std::string(point.status().message()))});
    return;
  }
  Config whole = ConfigOf(*plan_->space, *point, plan_->constants);
  if (const Constraint* const broken = FindBroken(plan_->constraints, whole)) {
    outcome.actions.push_back(
        {.kind = Action::Kind::kNotice,
         .text =
             absl::StrCat("it is not tried: it does not meet the constraint ", broken->text())});
    return;
  }
  outcome.changed = true;
  enqueued_.push_back(std::move(whole));
}

void Engine::TakeLearn(const EngineEvent& event, Outcome& outcome) {
  auto config = ParseConfig(event.text);
  if (!config.ok() || std::isnan(event.value)) return;
  const auto point = PointOf(*plan_->space, *config);
  if (!point.ok() || (plan_->second && !SecondOf(*plan_, event.others))) return;
  outcome.changed = true;
  if (plan_->method == Method::kExternal) {
    told_.push_back({.since = events_,
                     .config = *config,
                     .value = event.value,
                     .second = SecondOf(*plan_, event.others)});
  }
  known_.push_back({*std::move(config), Signed(event.value), event.others, *point});
}

bool Engine::MoreCome() const {
  if (state_ != State::kRunning && state_ != State::kPaused) return false;
  if (!waiting_.empty() || question_) return true;
  if (plan_->max_trials > 0 && trials_.size() >= plan_->max_trials) return false;
  if (!enqueued_.empty()) return true;
  if (!exhausted_.empty()) return false;
  if (plan_->method == Method::kReplay) return false;
  return plan_->method != Method::kPbt || founders_ < plan_->population.members;
}

bool Engine::MayAsk() const {
  if (!plan_->fixed_order) return true;
  // (Trial k waits for all trials up to k - parallel.)
  return trials_.size() < first_open_ + plan_->parallel;
}

void Engine::Order(std::uint64_t number, Actions& actions) {
  Trial& trial = trials_[number];
  const bool is_new = trial.attempt == 0;
  trial.stage = Stage::kRunning;
  trial.answer = TrialDecision::kContinue;
  trial.is_told_to_pause = false;
  trial.is_started = false;
  ++trial.attempt;
  ++active_;
  Action action = {.kind = is_new ? Action::Kind::kStart : Action::Kind::kResume,
                   .trial = number,
                   .number = trial.attempt};
  if (is_new) {
    action.text = ConfigText(trial.config);
    action.from = trial.from;
  }
  actions.push_back(std::move(action));
}

// Applies the rule to paused trials: those that continue wait for room, the others end.
void Engine::FollowRule(Actions& actions) {
  if (rule_ == nullptr || state_ != State::kRunning) return;
  while (Active() + waiting_.size() < plan_->parallel) {
    const auto fate = rule_->Next(trials_.size(), MoreCome());
    if (!fate) return;
    Trial& trial = trials_[fate->trial];
    if (trial.stage == Stage::kRunning) {
      trial.fate = fate->goes_on;  // The trial is still pausing.
    } else if (trial.stage == Stage::kPaused) {
      Meet(fate->trial, fate->goes_on, actions);
    }
  }
}

void Engine::Meet(std::uint64_t number, bool goes_on, Actions& actions) {
  if (!goes_on) return DropPaused(number, "others at its level were better", actions);
  Trial& trial = trials_[number];
  trial.stage = Stage::kWaiting;
  trial.answer = TrialDecision::kContinue;
  trial.reason.clear();
  waiting_.push_back(number);
}

bool Engine::OrderOne(Actions& actions) {
  if (!waiting_.empty()) {
    const std::uint64_t number = waiting_.front();
    waiting_.pop_front();
    Order(number, actions);
    return true;
  }
  if (question_ || !MoreCome()) return false;
  if (!enqueued_.empty()) {
    Add(std::move(enqueued_.front()));
    enqueued_.pop_front();
    return true;
  }
  if (!MayAsk()) return false;
  question_ = Ask{trials_.size(), events_};
  actions.push_back(
      {.kind = Action::Kind::kAsk, .trial = question_->trial, .number = question_->number});
  return true;
}

void Engine::Fill(Actions& actions) {
  while (first_open_ < trials_.size() && IsSettled(trials_[first_open_])) ++first_open_;
  if (state_ == State::kRunning) {
    FollowRule(actions);
    while (Active() < plan_->parallel && OrderOne(actions)) FollowRule(actions);
  }
  FinishIfIdle(actions);
}

void Engine::FinishIfIdle(Actions& actions) {
  if (Active() > 0 || !waiting_.empty()) return;
  if (state_ == State::kRunning) {
    if (!exhausted_.empty()) {
      reason_ = exhausted_;
    } else {
      reason_ = absl::StrCat("all ", trials_.size(), " trials have ended");
    }
    goal_ = State::kDone;
  } else if (state_ != State::kStopping) {
    return;
  }
  if (goal_ == State::kDone) {
    for (std::uint64_t number = 0; number < trials_.size(); ++number) {
      const Trial& trial = trials_[number];
      if (trial.stage == Stage::kPaused && trial.answer == TrialDecision::kPause) {
        DropPaused(number, "the sweep ended while it waited", actions);
      }
    }
  }
  state_ = goal_;
  actions.push_back({.kind = Action::Kind::kFinish, .text = reason_});
}

std::vector<Action> Engine::Open() const {
  Actions actions;
  for (std::uint64_t number = 0; number < trials_.size(); ++number) {
    const Trial& trial = trials_[number];
    if (IsActive(trial) && !trial.is_started) {
      const bool is_new = trial.attempt == 1;
      actions.push_back({.kind = is_new ? Action::Kind::kStart : Action::Kind::kResume,
                         .trial = number,
                         .number = trial.attempt,
                         .text = is_new ? ConfigText(trial.config) : "",
                         .from = is_new ? trial.from : std::nullopt});
    }
    if (IsActive(trial) && state_ == State::kStopping) {
      actions.push_back({.kind = Action::Kind::kStop, .trial = number, .text = reason_});
    }
    if (trial.stage == Stage::kStoppedEarly && trial.answer == TrialDecision::kPause) {
      actions.push_back({.kind = Action::Kind::kStop, .trial = number, .text = trial.reason});
    }
    if (IsActive(trial) && trial.is_told_to_pause && trial.answer == TrialDecision::kContinue) {
      actions.push_back({.kind = Action::Kind::kPause, .trial = number});
    }
    if (trial.is_dropped) actions.push_back({.kind = Action::Kind::kDrop, .trial = number});
  }
  if (question_) {
    actions.push_back(
        {.kind = Action::Kind::kAsk, .trial = question_->trial, .number = question_->number});
  }
  if (state_ == State::kDone || state_ == State::kStopped || state_ == State::kFailed) {
    actions.push_back({.kind = Action::Kind::kFinish, .text = reason_});
  }
  return actions;
}

std::vector<Observation> Engine::History(std::uint64_t basis) const {
  std::vector<Observation> history;
  for (const Known& known : known_) {
    if (!known.point) continue;
    history.push_back({.point = *known.point,
                       .state = TrialState::kDone,
                       .value = known.value,
                       .second = SignedSecond(*plan_, known.others)});
    const auto excesses = Excesses(*plan_, known.config, Signed(known.value), known.others);
    for (const auto& excess : excesses) {
      // (If one excess is unknown, all are omitted.)
      if (excess) history.back().excesses.push_back(*excess);
    }
    if (history.back().excesses.size() < excesses.size()) history.back().excesses.clear();
  }
  const std::size_t settled = plan_->fixed_order && trials_.size() >= plan_->parallel
                                  ? trials_.size() - plan_->parallel + 1
                              : plan_->fixed_order ? 0
                                                   : trials_.size();
  for (std::size_t i = 0; i < trials_.size(); ++i) {
    const Trial& trial = trials_[i];
    if (!trial.point || trial.suggested > basis) continue;
    Observation observation = {.point = *trial.point};
    for (const Standing& standing : trial.standings) {
      if (standing.since > basis || i >= settled) break;
      observation.state = standing.state;
      observation.value = standing.value;
      observation.second = standing.second;
      observation.resource = standing.resource;
      observation.excesses = standing.excesses;
    }
    history.push_back(std::move(observation));
  }
  return history;
}

std::optional<Question> Engine::OpenQuestion() const {
  if (!question_ || sampler_ == nullptr) return std::nullopt;
  return Question{.space = plan_->space,
                  .sampler = sampler_,
                  .constants = plan_->constants,
                  .constraints = plan_->constraints,
                  .seed = plan_->seed,
                  .duplicates = plan_->duplicates,
                  .trial = question_->trial,
                  .number = question_->number,
                  .history = History(question_->number)};
}

std::vector<std::uint64_t> Engine::Front() const {
  std::vector<Pair> values;
  std::vector<std::uint64_t> numbers;
  for (std::uint64_t number = 0; plan_->second && number < trials_.size(); ++number) {
    const Trial& trial = trials_[number];
    if (trial.stage == Stage::kFailed ||
        !MissingObjective(*plan_, trial.value, trial.others).empty() || !MeetsAll(trial))
      continue;
    values.push_back({Signed(*trial.value), SignedSecond(*plan_, trial.others)});
    numbers.push_back(number);
  }
  std::vector<std::uint64_t> front;
  for (const std::size_t i : tuning::Front(values)) front.push_back(numbers[i]);
  return front;
}

std::optional<std::uint64_t> Engine::Best() const {
  if (plan_->second) {
    const std::vector<std::uint64_t> front = Front();
    return front.empty() ? std::nullopt : std::optional(front.front());
  }
  std::optional<std::uint64_t> best;
  for (std::uint64_t number = 0; number < trials_.size(); ++number) {
    const Trial& trial = trials_[number];
    if (trial.stage == Stage::kFailed || !trial.value || std::isnan(*trial.value)) continue;
    if (best && !(Signed(*trial.value) < Signed(*trials_[*best].value))) continue;
    if (MeetsAll(trial)) best = number;
  }
  return best;
}

std::vector<StoppingRule::Level> Engine::Levels() const {
  auto levels = rule_ == nullptr ? std::vector<StoppingRule::Level>() : rule_->Levels();
  for (StoppingRule::Level& level : levels) {
    level.best = Signed(level.best);
    level.cutoff = Signed(level.cutoff);
  }
  return levels;
}

std::vector<std::pair<double, Config>> Engine::Schedule(std::uint64_t number) const {
  std::vector<std::pair<double, Config>> schedule;
  if (number >= trials_.size()) return schedule;
  for (std::optional<std::uint64_t> one = number; one; one = trials_[*one].from) {
    schedule.emplace_back(trials_[*one].from_resource, trials_[*one].config);
  }
  std::reverse(schedule.begin(), schedule.end());
  return schedule;
}

}  // namespace tuning
