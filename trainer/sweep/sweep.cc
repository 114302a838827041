#include "trainer/sweep/sweep.h"

#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "trainer/sweep/sweep_event.h"
#include "trainer/sweep/sweep_plan.h"
#include "tuning/engine/plan_reader.h"
#include "tuning/space/config.h"

namespace trainer {

using tuning::Engine;
using Kind = tuning::EngineEvent::Kind;

Sweep::Sweep(const SweepRecord& record, Engine engine)
    : number_(record.number),
      method_(MethodOf(record.request.plan)),
      plan_json_(record.request.plan),
      source_(record.request.source),
      engine_(std::move(engine)) {}

absl::StatusOr<std::unique_ptr<Sweep>> Sweep::Begin(const SweepRecord& record, std::int64_t now_us,
                                                    std::vector<SweepEventRow>& events) {
  auto plan = ReadSweepPlan(record.request.plan);
  if (!plan.ok()) return plan.status();
  auto engine = Engine::Create(plan->plan);
  if (!engine.ok()) return engine.status();
  std::unique_ptr<Sweep> sweep(new Sweep(record, *std::move(engine)));
  StoreBatch batch;
  for (const tuning::KnownResult& known : plan->known) {
    sweep->Apply({.kind = Kind::kLearn,
                  .value = known.value,
                  .others = known.others,
                  .text = tuning::ConfigText(known.config)},
                 now_us, batch);
  }
  for (const tuning::Config& config : plan->enqueue) {
    sweep->Apply({.kind = Kind::kEnqueue, .text = tuning::ConfigText(config)}, now_us, batch);
  }
  sweep->Apply({.kind = Kind::kBegin}, now_us, batch);
  events = std::move(batch.sweep_events);
  return sweep;
}

absl::StatusOr<std::unique_ptr<Sweep>> Sweep::Load(const SweepRecord& record, TrialStore& store) {
  auto plan = ReadSweepPlan(record.request.plan);
  if (!plan.ok()) return plan.status();
  auto engine = Engine::Create(plan->plan);
  if (!engine.ok()) return engine.status();
  std::unique_ptr<Sweep> sweep(new Sweep(record, *std::move(engine)));
  const absl::Status read =
      store.ForEachSweepEvent(record.number, [&](const SweepEventRow& row) -> absl::Status {
        const auto event = EventOf(row);
        if (!event.ok()) return event.status();
        const Engine::Outcome outcome = sweep->engine_.Apply(*event);
        if (!outcome.changed) {
          return absl::DataLossError(absl::StrCat("event ", row.seq, " of sweep ", record.id,
                                                  " does not follow from those before it"));
        }
        sweep->events_ = row.seq;
        sweep->Note(row, outcome);
        return absl::OkStatus();
      });
  if (!read.ok()) return read;
  return sweep;
}

Engine::Outcome Sweep::Apply(tuning::EngineEvent event, std::int64_t now_us, StoreBatch& batch,
                             const std::string& plan_json, const std::string& request_id) {
  Engine::Outcome outcome = engine_.Apply(event);
  if (!outcome.changed) return outcome;
  event.decided = outcome.decided;
  if (outcome.donor > 0) {
    event.number = outcome.donor;
    event.text = outcome.config;
  }
  SweepEventRow row = RowOf(event, plan_json);
  row.sweep = number_;
  row.seq = ++events_;
  row.request_id = request_id;
  row.time_us = now_us;
  Note(row, outcome);
  batch.sweep_events.push_back(std::move(row));
  return outcome;
}

void Sweep::Note(const SweepEventRow& row, const Engine::Outcome& outcome) {
  facts_.resize(engine_.trials().size());
  if (!row.request_id.empty()) requests_.insert(row.request_id);
  const auto kind = static_cast<Kind>(row.kind);
  if (kind == Kind::kChange) {
    plan_json_ = row.plan;
    method_ = MethodOf(row.plan);
    source_ = row.text;
  }
  const bool is_stale = kind == Kind::kChange || kind == Kind::kResume ||
                        (kind == Kind::kSuggested && notice_is_of_change_);
  if (is_stale) notice_.clear();
  // These events may change trials that no action names.
  const bool changes_many = kind == Kind::kChange || kind == Kind::kStop || kind == Kind::kResume ||
                            kind == Kind::kFail || kind == Kind::kPause;
  if (changes_many) {
    for (TrialFacts& facts : facts_) facts.changed = row.seq;
  }
  const auto change = [&](std::uint64_t trial) {
    if (trial < facts_.size()) facts_[trial].changed = row.seq;
  };
  for (const tuning::Action& action : outcome.actions) {
    change(action.trial);
    if (action.kind == tuning::Action::Kind::kNotice) {
      notice_ = action.text;
      notice_is_of_change_ = kind == Kind::kChange;
    }
    if (action.kind != tuning::Action::Kind::kFinish) continue;
    for (TrialFacts& facts : facts_) facts.changed = row.seq;
  }
  const auto trial = static_cast<std::uint64_t>(row.trial);
  change(trial);
  if (trial >= facts_.size()) return;
  TrialFacts& facts = facts_[trial];
  if (kind == Kind::kStarted) {
    if (!row.text.empty()) facts.id = row.text;
    if (facts.started_us == 0) facts.started_us = row.time_us;
    facts.ended_us = 0;
  }
  const bool is_over = static_cast<tuning::End>(row.end) != tuning::End::kPaused;
  if (kind == Kind::kEnded && is_over) facts.ended_us = row.time_us;
}

}  // namespace trainer
