#include "trainer/sweep/sweep_input.h"

#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/text/string_view.h"
#include "trainer/store/trial_record.h"
#include "trainer/sweep/sweep_plan.h"
#include "tuning/space/config.h"

namespace trainer {

using tuning::Engine;
using tuning::EngineEvent;
using Kind = tuning::EngineEvent::Kind;

std::optional<EngineEvent> EventOfReport(const tuning::Plan& plan,
                                         const std::vector<Metric>& metrics) {
  const auto find = [&](const std::string& name) -> std::optional<double> {
    for (const Metric& metric : metrics) {
      if (metric.name == name && metric.number) return *metric.number;
    }
    return std::nullopt;
  };
  EngineEvent event = {.kind = Kind::kMeasured};
  bool has_others = false;
  for (const std::string& name : tuning::OtherMetrics(plan)) {
    event.others.push_back(find(name));
    has_others = has_others || event.others.back();
  }
  if (!has_others) event.others.clear();
  const auto value = find(plan.metric.name);
  if (!value) return has_others ? std::optional(event) : std::nullopt;
  event.kind = Kind::kReported;
  event.value = *value;
  return event;
}

std::optional<EngineEvent> EventOfTrial(const Engine::Trial& trial, std::uint64_t number,
                                        const absl::StatusOr<msg::TrialT>& shown) {
  const bool runs = trial.stage == Engine::Stage::kRunning;
  if (runs && !trial.is_started) return std::nullopt;  // It is about to be started or resumed.
  EngineEvent event = {.kind = Kind::kEnded, .trial = number};
  if (!shown.ok()) {
    if (!absl::IsNotFound(shown.status()) || !runs) return std::nullopt;
    event.end = tuning::End::kFailed;
    event.text = "its trial was removed";
    return event;
  }
  if (shown->state == msg::TrialState::Paused) {
    if (!runs) return std::nullopt;
    event.end = tuning::End::kPaused;
    event.text = shown->reason;
    return event;
  }
  if (HasEnded(shown->state)) {
    if (!runs && trial.stage != Engine::Stage::kPaused) return std::nullopt;
    event.end = shown->state == msg::TrialState::Done      ? tuning::End::kDone
                : shown->state == msg::TrialState::Stopped ? tuning::End::kStopped
                                                           : tuning::End::kFailed;
    event.text = shown->reason;
    if (event.end == tuning::End::kFailed && !shown->error_lines.empty()) {
      absl::StrAppend(&event.text, ": ", shown->error_lines.back());
    }
    return event;
  }
  // A user has resumed it.
  if (runs || trial.stage == Engine::Stage::kWaiting) return std::nullopt;
  event.kind = Kind::kStarted;
  event.number = trial.attempt + 1;
  return event;
}

absl::StatusOr<EngineEvent> EventOfOrder(const std::string& id, const Engine& engine,
                                         const msg::ChangeSweepRequestT& request,
                                         std::string& plan) {
  EngineEvent event;
  event.whether = request.whether;
  const auto refuse = [&](std::string_view what) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot ", runtime::Absl(what), " sweep ", id, ": it ",
                     HasEnded(engine) ? "has ended" : "is stopping"));
  };
  const bool is_stopping = engine.state() == Engine::State::kStopping;
  const bool is_over = HasEnded(engine) || is_stopping;
  switch (request.order) {
    case msg::SweepOrder::Stop:
      event.kind = Kind::kStop;
      event.text = "it was asked to stop";
      return event;
    case msg::SweepOrder::Pause:
      if (is_over) return refuse("pause");
      event.kind = Kind::kPause;
      return event;
    case msg::SweepOrder::Resume:
      if (is_stopping) return refuse("resume");
      event.kind = Kind::kResume;
      return event;
    case msg::SweepOrder::Change: {
      if (is_stopping) return refuse("change");
      auto whole = WithParallel(request.plan, engine.plan().parallel);
      if (!whole.ok()) return whole.status();
      auto read = ReadSweepPlan(*whole);
      if (!read.ok()) return read.status();
      if (auto made = Engine::Create(read->plan); !made.ok()) return made.status();
      plan = *std::move(whole);
      event.kind = Kind::kChange;
      event.text = request.source;
      event.plan = read->plan;
      return event;
    }
    case msg::SweepOrder::Enqueue: {
      if (is_over) return refuse("enqueue into");
      auto config = tuning::ParseConfig(request.config);
      if (!config.ok()) return config.status();
      event.kind = Kind::kEnqueue;
      event.text = request.config;
      return event;
    }
    case msg::SweepOrder::Remove:
      break;
  }
  return absl::InvalidArgumentError("there is no such order");
}

bool HasEnded(const Engine& engine) {
  const Engine::State state = engine.state();
  return state == Engine::State::kDone || state == Engine::State::kStopped ||
         state == Engine::State::kFailed;
}

}  // namespace trainer
