#include "tuning/engine/engine.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuning/engine/engine_event.h"
#include "tuning/engine/plan.h"
#include "tuning/engine/question.h"
#include "tuning/space/config.h"
#include "tuning/space/constraint.h"
#include "tuning/space/draws.h"
#include "tuning/space/space.h"
#include "tuning/stop/stopping_rule.h"

namespace tuning {
namespace {

using testing::HasSubstr;
using Kind = Action::Kind;
using State = Engine::State;
using Stage = Engine::Stage;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::shared_ptr<const Space> TwoNumbers() {
  return std::make_shared<const Space>(
      *Space::Create({{.name = "x", .low = 0, .high = 1}, {.name = "y", .low = -1, .high = 1}}));
}

Plan Small() {
  return {.space = TwoNumbers(),
          .metric = {.name = "loss"},
          .seed = 5,
          .max_trials = 12,
          .parallel = 3,
          .asha = {.min_resource = 1, .max_resource = 27, .eta = 3},
          .bands = {.min_iter = 1},
          .hyperband = {.max_resource = 9, .eta = 3}};
}

// A sweep with its programs: carries out actions, and keeps the events that would be on disk.
class World {
 public:
  explicit World(Plan plan)
      : plan_(std::make_shared<const Plan>(std::move(plan))), engine_(*Engine::Create(plan_)) {
    Take({.kind = EngineEvent::Kind::kBegin});
  }

  Engine::Outcome Take(EngineEvent event) {
    auto outcome = engine_.Apply(event);
    event.decided = outcome.decided;
    if (outcome.donor > 0) {
      event.number = outcome.donor;
      event.text = outcome.config;
    }
    if (outcome.changed) stored_.push_back(event);
    // (An event that is not stored must have changed nothing.)
    for (const Action& action : outcome.actions) Do(action);
    return outcome;
  }

  // Another process takes over the sweep: it knows the stored events, and repeats actions that may
  // not have been done.
  void Kill() {
    Engine other = *Engine::Create(plan_);
    for (const EngineEvent& event : stored_) {
      const auto outcome = other.Apply(event);
      EXPECT_TRUE(outcome.changed);
      if (event.decided) {
        EXPECT_EQ(outcome.decided, event.decided);
      }
    }
    EXPECT_EQ(Text(other), Text(engine_));
    engine_ = std::move(other);
    for (const Action& action : engine_.Open()) Do(action);
  }

  bool AnswerQuestion() {
    const auto question = engine_.OpenQuestion();
    if (!question) return false;
    const auto config = question->Answer();
    EngineEvent event = {
        .kind = config ? EngineEvent::Kind::kSuggested : EngineEvent::Kind::kExhausted,
        .trial = question->trial,
        .number = question->number,
        .text = config ? ConfigText(*config) : ""};
    Take(event);
    return true;
  }
  TrialDecision Report(std::uint64_t trial, double value) {
    Program& program = programs_.at(trial);
    ++program.at;
    const auto outcome = Take({.kind = EngineEvent::Kind::kReported,
                               .trial = trial,
                               .resource = program.at,
                               .value = value,
                               .whether = saves});
    // (A program that was told to pause does so, whatever the answer to its report.)
    if (*outcome.decided != TrialDecision::kContinue) program.answer = *outcome.decided;
    return *outcome.decided;
  }
  void End(std::uint64_t trial, tuning::End end, std::string text = {}) {
    programs_.at(trial).runs = false;
    Take({.kind = EngineEvent::Kind::kEnded, .trial = trial, .end = end, .text = std::move(text)});
  }
  // Runs the programs in turn to the end of the sweep; each one takes `length` steps.
  void RunAll(double length, const std::function<double(const Point&, double)>& curve) {
    for (int i = 0; i < 100000 && !IsOver(); ++i) {
      AnswerQuestion();
      for (const auto& [trial, at] : Running()) {
        if (programs_.at(trial).runs) Advance(trial, length, curve);
      }
    }
  }
  void Advance(std::uint64_t trial, double length,
               const std::function<double(const Point&, double)>& curve) {
    Program& program = programs_.at(trial);
    if (program.answer == TrialDecision::kStop) return End(trial, tuning::End::kStopped);
    if (program.answer == TrialDecision::kPause) return End(trial, tuning::End::kPaused);
    if (program.at >= length) return End(trial, tuning::End::kDone);
    // In a changed space a trial may have no point; its program continues.
    const auto& point = engine_.trials()[trial].point;
    Report(trial, point.has_value() ? curve(*point, program.at + 1) : 10);
  }

  std::map<std::uint64_t, double> Running() const {
    std::map<std::uint64_t, double> running;
    for (const auto& [trial, program] : programs_) {
      if (program.runs) running[trial] = program.at;
    }
    return running;
  }
  bool IsOver() const {
    return engine_.state() == State::kDone || engine_.state() == State::kStopped ||
           engine_.state() == State::kFailed;
  }
  double Epochs() const {
    double sum = 0;
    for (const auto& [trial, program] : programs_) sum += program.at;
    return sum;
  }
  const Engine& engine() const { return engine_; }
  const std::vector<EngineEvent>& stored() const { return stored_; }
  bool IsDropped(std::uint64_t trial) const { return programs_.at(trial).dropped; }
  // The last notice.
  const std::string& notice() const { return notice_; }
  bool loses_checkpoints = false, saves = true;

  // Describes everything observable about a sweep.
  static std::string Text(const Engine& engine) {
    std::string text = absl::StrCat(static_cast<int>(engine.state()), " ", engine.reason(), "\n");
    for (const Engine::Trial& trial : engine.trials()) {
      absl::StrAppend(&text, ConfigText(trial.config), " ", static_cast<int>(trial.stage), " ",
                      trial.attempt, " ", trial.is_started, " ", trial.resource, " ",
                      trial.value.value_or(-99), " ", static_cast<int>(trial.answer), " ",
                      trial.reason, " ", trial.suggested, " ", trial.member, ".", trial.generation,
                      " from ", trial.from.value_or(999));
      for (const Engine::Standing& standing : trial.standings) {
        absl::StrAppend(&text, " ", standing.since, ":", static_cast<int>(standing.state), ":",
                        standing.value, ":", standing.resource, ":", standing.second);
        for (const double excess : standing.excesses) absl::StrAppend(&text, "/", excess);
      }
      absl::StrAppend(&text, "\n");
    }
    for (const Action& action : engine.Open()) {
      absl::StrAppend(&text, static_cast<int>(action.kind), " ", action.trial, " ", action.number,
                      " ", action.text, "\n");
    }
    return text;
  }

 private:
  struct Program {
    bool runs = false, dropped = false;
    double at = 0;
    std::uint64_t attempt = 0;
    TrialDecision answer = TrialDecision::kContinue;
  };

  void Do(const Action& action) {
    switch (action.kind) {
      case Kind::kStart:
      case Kind::kResume: {
        Program& program = programs_[action.trial];
        if (program.attempt >= action.number) return;  // It was done before.
        EXPECT_FALSE(program.runs);
        EXPECT_EQ(program.attempt == 0, action.kind == Kind::kStart);
        program.attempt = action.number;
        program.runs = true;
        program.answer = TrialDecision::kContinue;
        if (action.from) {
          EXPECT_FALSE(programs_[*action.from].dropped) << action.trial;
          program.at = programs_[*action.from].at;
        }
        if (action.kind == Kind::kResume && loses_checkpoints) program.at = 0;
        return;
      }
      case Kind::kStop:
        if (programs_.contains(action.trial)) programs_[action.trial].answer = TrialDecision::kStop;
        return;
      case Kind::kPause: {
        Program& program = programs_[action.trial];
        if (program.answer == TrialDecision::kContinue) program.answer = TrialDecision::kPause;
        return;
      }
      case Kind::kDrop:
        EXPECT_FALSE(programs_.at(action.trial).runs);
        programs_.at(action.trial).dropped = true;
        return;
      case Kind::kNotice:
        notice_ = action.text;
        return;
      case Kind::kAnswer:
      case Kind::kAsk:
      case Kind::kFinish:
        return;
    }
  }

  std::shared_ptr<const Plan> plan_;
  Engine engine_;
  std::vector<EngineEvent> stored_;
  std::map<std::uint64_t, Program> programs_;
  std::string notice_;
};

double Curve(const Point& point, double at) {
  return std::hypot(point[0] - 0.4, point[1] - 0.2) + 1 / (at + 1);
}

// All possible events, in an order that depends on the seed. Checks the invariants after each
// event.
class Storm {
 public:
  Storm(const Plan& plan, std::uint64_t seed, bool kills)
      : plan_(plan), world_(plan), draws_(seed, "storm", 0), kills_(kills) {}

  // Returns the ended sweep as text.
  std::string Run() {
    for (int i = 0; i < 3000 && !world_.IsOver(); ++i) {
      Step();
      if (kills_ && kill_draws_.Below(8) == 0) world_.Kill();
      Check();
      if (testing::Test::HasFailure()) break;
    }
    EXPECT_TRUE(world_.IsOver()) << World::Text(world_.engine());
    for (const Engine::Trial& trial : world_.engine().trials()) {
      if (world_.engine().state() != State::kDone) continue;
      EXPECT_NE(trial.stage, Stage::kPaused) << World::Text(world_.engine());
      EXPECT_NE(trial.stage, Stage::kWaiting) << World::Text(world_.engine());
    }
    return World::Text(world_.engine());
  }
  const World& world() const { return world_; }

 private:
  static constexpr double kLength = 9;

  void Step() {
    const Engine& engine = world_.engine();
    const auto running = world_.Running();
    const std::uint64_t choice = draws_.Below(100);
    if (choice < 3) return Command();
    if (engine.state() == State::kPaused && (choice < 20 || running.empty())) {
      world_.Take({.kind = EngineEvent::Kind::kResume});
      return;
    }
    if (engine.OpenQuestion() && (choice < 35 || running.empty())) {
      world_.AnswerQuestion();
      return;
    }
    if (running.empty()) return;
    auto one = running.begin();
    std::advance(one, static_cast<std::ptrdiff_t>(draws_.Below(running.size())));
    const std::uint64_t trial = one->first;
    if (choice < 45) {
      const Engine::Trial& its = engine.trials()[trial];
      world_.Take({.kind = EngineEvent::Kind::kStarted,
                   .trial = trial,
                   .number = its.attempt,
                   .resource = one->second});
    } else if (choice < 48) {
      world_.End(trial, tuning::End::kFailed, "out of memory");
    } else if (choice < 50) {
      world_.Report(trial, kNan);
    } else {
      world_.Advance(trial, kLength, Curve);
    }
  }
  void Command() {
    switch (draws_.Below(5)) {
      case 0:
        world_.Take({.kind = EngineEvent::Kind::kPause, .whether = draws_.Below(2) == 0});
        return;
      case 1:
        world_.Take({.kind = EngineEvent::Kind::kResume, .whether = draws_.Below(2) == 0});
        return;
      case 2:
        world_.Take({.kind = EngineEvent::Kind::kEnqueue, .text = R"({"x":0.25,"y":0.5})"});
        return;
      case 3:
        world_.Take(
            {.kind = EngineEvent::Kind::kLearn, .value = 0.3, .text = R"({"x":0.3,"y":0.1})"});
        return;
      default:
        if (draws_.Below(10) == 0) world_.Take({.kind = EngineEvent::Kind::kStop});
        return;
    }
  }
  void Check() {
    const Engine& engine = world_.engine();
    EXPECT_LE(engine.Active(), plan_.parallel);
    if (engine.state() == State::kRunning) {
      EXPECT_GT(engine.Active(), 0u) << World::Text(engine);
    }
    std::size_t active = 0;
    for (const Engine::Trial& trial : engine.trials()) {
      active += trial.stage == Stage::kRunning ? 1 : 0;
    }
    EXPECT_EQ(active, world_.Running().size()) << World::Text(engine);
    EXPECT_LE(engine.trials().size(), plan_.max_trials);
  }

  const Plan plan_;
  World world_;
  Draws draws_;
  Draws kill_draws_ = Draws(1, "kill", 0);
  const bool kills_;
};

struct Case {
  std::string name;
  Method method;
  Stopping stopping;
};

// Number of orders for each case: few enough to take less than two seconds; ORDERS overrides it.
std::uint64_t Orders() {
  const char* const wanted = std::getenv("ORDERS");
  return wanted == nullptr ? 50 : static_cast<std::uint64_t>(std::atoll(wanted));
}

class StormTest : public testing::TestWithParam<Case> {};

// Each order of events ends the same with and without kills.
TEST_P(StormTest, AnyOrderOfEventsEndsAndKillsChangeNothing) {
  Plan plan = Small();
  plan.method = GetParam().method;
  plan.stopping = GetParam().stopping;
  plan.asha.max_resource = 9;
  plan.population = {.members = 4, .interval = 2};
  for (std::uint64_t seed = 0; seed < Orders(); ++seed) {
    plan.max_failures = seed % 5 == 0 ? 4 : 0;
    plan.max_failures_in_a_row = seed % 7 == 0 ? 3 : 0;
    const std::string whole = Storm(plan, seed, false).Run();
    ASSERT_EQ(Storm(plan, seed, true).Run(), whole) << GetParam().name << " " << seed;
    ASSERT_FALSE(HasFailure()) << GetParam().name << " " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Rules, StormTest,
    testing::Values(Case{"None", Method::kRandom, Stopping::kNone},
                    Case{"Asha", Method::kRandom, Stopping::kAsha},
                    Case{"Promotion", Method::kRandom, Stopping::kAshaPromotion},
                    Case{"Median", Method::kRandom, Stopping::kMedian},
                    Case{"Bands", Method::kRandom, Stopping::kBands},
                    Case{"Hyperband", Method::kRandom, Stopping::kHyperband},
                    Case{"Population", Method::kPbt, Stopping::kNone},
                    Case{"Sobol", Method::kSobol, Stopping::kAshaPromotion},
                    Case{"Tpe", Method::kTpe, Stopping::kAsha},
                    Case{"TpePromotion", Method::kTpe, Stopping::kAshaPromotion}),
    [](const auto& info) { return info.param.name; });

// Checks where the sweep continues after each event in turn.
TEST(EngineTest, NoTrialBreaksAConstraint) {
  for (const Method method :
       {Method::kRandom, Method::kGrid, Method::kSobol, Method::kTpe, Method::kGp, Method::kPbt}) {
    Plan plan = Small();
    if (method == Method::kGrid) {
      std::vector<std::string> values;
      for (int i = 0; i < 20; ++i) values.push_back(absl::StrCat(i));
      plan.space = std::make_shared<const Space>(
          *Space::Create({{.name = "x", .kind = tuning::Kind::kCategory, .values = values}}));
      plan.constraints = {*Constraint::Parse("x >= 4 and x < 10")};
    } else {
      // 2 % of the space.
      plan.constraints = {*Constraint::Parse("x < 0.2 and y > 0.8")};
    }
    plan.method = method;
    plan.max_trials = 40;
    plan.population = {.members = 4, .interval = 1};
    World world(plan);
    const auto refused =
        world.Take({.kind = EngineEvent::Kind::kEnqueue, .text = R"({"x":0.9,"y":0})"});
    EXPECT_FALSE(refused.changed);
    world.RunAll(3, [](const Point& point, double at) { return point[0] + 1 / at; });
    const auto& trials = world.engine().trials();
    if (method == Method::kPbt) {
      EXPECT_GT(trials.size(), 4u) << "nobody took over";
    } else {
      EXPECT_EQ(trials.size(), method == Method::kGrid ? 6u : 40u) << static_cast<int>(method);
    }
    for (const auto& trial : trials) EXPECT_TRUE(Allow(plan.constraints, trial.config));
  }
}

TEST(EngineTest, AThousandSuggestionsMeetAConstraintThatOnePercentMeets) {
  Plan plan = Small();
  plan.method = Method::kTpe;
  plan.max_trials = 1000;
  plan.constraints = {*Constraint::Parse("x < 0.1 and y > 0.8")};
  World world(plan);
  world.RunAll(1, [](const Point& point, double) { return point[0] + point[1]; });
  EXPECT_EQ(world.engine().trials().size(), 1000u);
  for (const auto& trial : world.engine().trials()) {
    EXPECT_TRUE(Allow(plan.constraints, trial.config));
  }
}

TEST(EngineTest, ASweepThatIsTakenUpAfterAnyEventGoesOnTheSame) {
  for (const Stopping stopping : {Stopping::kAsha, Stopping::kAshaPromotion, Stopping::kMedian}) {
    Plan plan = Small();
    plan.method = Method::kTpe;
    plan.stopping = stopping;
    World world(plan);
    world.RunAll(27, Curve);
    const auto& stored = world.stored();
    const auto shared = std::make_shared<const Plan>(plan);
    Engine live = *Engine::Create(shared);
    for (std::size_t n = 0; n < stored.size(); ++n) {
      // The answer to a question does not depend on when it is asked.
      if (stored[n].kind == EngineEvent::Kind::kSuggested) {
        EXPECT_EQ(ConfigText(*live.OpenQuestion()->Answer()), stored[n].text);
      }
      Engine copy = live;
      const auto outcome = live.Apply(stored[n]), again = copy.Apply(stored[n]);
      EXPECT_EQ(outcome.actions, again.actions);
    }
    EXPECT_EQ(World::Text(live), World::Text(world.engine()));
  }
}

TEST(EngineTest, AQuestionThatIsAnsweredLateHasTheAnswerOfItsTime) {
  Plan plan = Small();
  plan.method = Method::kTpe;
  plan.max_trials = 40;
  World world(plan);
  while (world.engine().trials().size() < 20) {
    world.AnswerQuestion();
    for (const auto& [trial, at] : world.Running()) {
      if (world.Running().size() == 3) world.Advance(trial, 2, Curve);
    }
  }
  while (!world.engine().OpenQuestion()) world.Advance(world.Running().begin()->first, 2, Curve);
  const Config config = *world.engine().OpenQuestion()->Answer();
  // Meanwhile other trials end.
  const auto running = world.Running();
  for (const auto& [trial, at] : running) {
    while (world.Running().contains(trial)) world.Advance(trial, 2, Curve);
  }
  EXPECT_EQ(*world.engine().OpenQuestion()->Answer(), config);
}

TEST(EngineTest, ATrialIsAskedForWhenThereIsRoomAndOneAtATime) {
  World world(Small());
  EXPECT_EQ(world.engine().Active(), 1u);
  world.AnswerQuestion();
  world.AnswerQuestion();
  world.AnswerQuestion();
  EXPECT_EQ(world.engine().OpenQuestion(), std::nullopt);
  EXPECT_EQ(world.Running().size(), 3u);
  world.Report(1, 0.5);
  EXPECT_EQ(world.engine().OpenQuestion(), std::nullopt);
  world.End(1, End::kDone);
  EXPECT_EQ(world.engine().OpenQuestion()->trial, 3u);
}

TEST(EngineTest, WhatChangesNothingNeedNotBeStored) {
  Plan plan = Small();
  plan.stopping = Stopping::kAsha;
  World world(plan);
  world.AnswerQuestion();
  EXPECT_TRUE(
      world.Take({.kind = EngineEvent::Kind::kReported, .trial = 0, .resource = 1, .value = 0.5})
          .changed);
  EXPECT_FALSE(
      world.Take({.kind = EngineEvent::Kind::kReported, .trial = 0, .resource = 2, .value = 0.6})
          .changed);
  EXPECT_TRUE(
      world.Take({.kind = EngineEvent::Kind::kReported, .trial = 0, .resource = 2, .value = 0.4})
          .changed);
  EXPECT_FALSE(world.Take({.kind = EngineEvent::Kind::kEnded, .trial = 7}).changed);
  EXPECT_FALSE(
      world.Take({.kind = EngineEvent::Kind::kSuggested, .trial = 9, .text = "{}"}).changed);
  EXPECT_FALSE(world.Take({.kind = EngineEvent::Kind::kBegin}).changed);
}

TEST(EngineTest, AVerdictNamesItsNumbers) {
  Plan plan = Small();
  plan.stopping = Stopping::kAsha;
  plan.metric.maximize = true;
  plan.metric.name = "accuracy";
  World world(plan);
  for (int i = 0; i < 3; ++i) world.AnswerQuestion();
  EXPECT_EQ(world.Report(0, 0.9), TrialDecision::kContinue);
  const auto outcome =
      world.Take({.kind = EngineEvent::Kind::kReported, .trial = 1, .resource = 1, .value = 0.8});
  EXPECT_EQ(outcome.actions.at(0).answer, TrialDecision::kStop);
  EXPECT_EQ(outcome.actions.at(0).text,
            "stopped at 1: accuracy 0.8 is 2nd of 2, the best 1 goes on");
  world.End(1, End::kStopped);
  EXPECT_EQ(world.engine().trials()[1].stage, Stage::kStoppedEarly);
  EXPECT_EQ(world.engine().trials()[1].reason, outcome.actions.at(0).text);
  EXPECT_EQ(world.engine().Best(), 0u);
}

TEST(EngineTest, AStoredVerdictCountsWhateverWouldBeSaidNow) {
  for (const Stopping stopping : {Stopping::kAsha, Stopping::kAshaPromotion}) {
    Plan plan = Small();
    plan.stopping = stopping;
    World world(plan);
    for (int i = 0; i < 3; ++i) world.AnswerQuestion();
    const auto outcome = world.Take({.kind = EngineEvent::Kind::kReported,
                                     .trial = 1,
                                     .resource = 1,
                                     .value = 0.8,
                                     .decided = TrialDecision::kStop});
    EXPECT_EQ(outcome.decided, TrialDecision::kStop);
    world.End(1, End::kStopped);
    EXPECT_EQ(world.engine().trials()[1].stage, Stage::kStoppedEarly);
  }
}

TEST(EngineTest, NanAndInfinitiesHaveTheSameVerdictUnderEachRule) {
  for (const Stopping stopping : {Stopping::kAsha, Stopping::kAshaPromotion, Stopping::kMedian,
                                  Stopping::kHyperband, Stopping::kNone, Stopping::kBands}) {
    Plan plan = Small();
    plan.stopping = stopping;
    plan.hyperband.max_resource = 3;
    World world(plan);
    for (int i = 0; i < 3; ++i) world.AnswerQuestion();
    const TrialDecision nan = world.Report(0, kNan);
    // W&B's bands ignore NaN, and HyperBand waits for the others.
    const bool stops = stopping == Stopping::kAsha || stopping == Stopping::kAshaPromotion ||
                       stopping == Stopping::kMedian;
    EXPECT_EQ(nan, stops                              ? TrialDecision::kStop
                   : stopping == Stopping::kHyperband ? TrialDecision::kPause
                                                      : TrialDecision::kContinue)
        << static_cast<int>(stopping);
    world.Report(1, std::numeric_limits<double>::infinity());
    world.Report(2, -std::numeric_limits<double>::infinity());
    for (const std::uint64_t trial : {1, 2}) world.End(trial, End::kDone);
    EXPECT_EQ(world.engine().trials()[2].stage, Stage::kDone);
    EXPECT_EQ(world.engine().Best(), 2u);
    world.End(0, nan == TrialDecision::kStop    ? End::kStopped
                 : nan == TrialDecision::kPause ? End::kPaused
                                                : End::kDone);
    if (nan == TrialDecision::kContinue) {
      EXPECT_EQ(world.engine().trials()[0].stage, Stage::kFailed);
      EXPECT_THAT(world.engine().trials()[0].reason, HasSubstr("loss was never reported"));
    }
  }
}

TEST(EngineTest, TheLastValueMayBeNanAndThenTheTrialHasFailed) {
  Plan plan = Small();
  plan.metric.last = true;
  World world(plan);
  world.AnswerQuestion();
  world.Report(0, 0.5);
  world.Report(0, kNan);
  world.End(0, End::kDone);
  EXPECT_EQ(world.engine().trials()[0].stage, Stage::kFailed);
  EXPECT_EQ(world.engine().trials()[0].reason, "loss is NaN at the end");
}

TEST(EngineTest, AFiniteSpaceEndsWhenAllWasTried) {
  Plan plan = Small();
  plan.space = std::make_shared<const Space>(
      *Space::Create({{.name = "a", .kind = tuning::Kind::kInt, .low = 1, .high = 4},
                      {.name = "b", .kind = tuning::Kind::kCategory, .values = {"1", "2", "3"}}}));
  plan.max_trials = 100;
  for (const Method method : {Method::kRandom, Method::kTpe, Method::kSobol, Method::kGrid}) {
    plan.method = method;
    World world(plan);
    world.RunAll(1, [](const Point& point, double) { return point[0] + point[1]; });
    EXPECT_EQ(world.engine().state(), State::kDone);
    EXPECT_EQ(world.engine().reason(), "all 12 combinations were tried");
    std::set<std::string> configs;
    for (const auto& trial : world.engine().trials()) configs.insert(ConfigText(trial.config));
    EXPECT_EQ(configs.size(), 12u);
  }
}

TEST(EngineTest, NothingIsTriedTwiceWithEightAtATime) {
  Plan plan = Small();
  plan.space = std::make_shared<const Space>(
      *Space::Create({{.name = "a", .kind = tuning::Kind::kInt, .low = 1, .high = 20},
                      {.name = "b", .kind = tuning::Kind::kInt, .low = 1, .high = 20}}));
  plan.method = Method::kTpe;
  plan.parallel = 8;
  plan.max_trials = 120;
  World world(plan);
  world.RunAll(1, [](const Point& point, double) { return std::abs(point[0] - 7) + point[1]; });
  std::set<std::string> configs;
  for (const auto& trial : world.engine().trials()) configs.insert(ConfigText(trial.config));
  EXPECT_EQ(configs.size(), 120u);
}

TEST(EngineTest, FailuresEndTheSweepAndResumeGoesOn) {
  Plan plan = Small();
  plan.max_failures_in_a_row = 3;
  World world(plan);
  for (int i = 0; i < 3; ++i) world.AnswerQuestion();
  world.End(1, End::kFailed, "exit code 1: no such file");
  world.End(0, End::kFailed);
  EXPECT_EQ(world.engine().state(), State::kRunning);
  world.End(2, End::kFailed);
  EXPECT_EQ(world.engine().state(), State::kFailed);
  EXPECT_EQ(world.engine().reason(),
            "3 trials in a row have failed, first trial 1: exit code 1: no such file");
  world.Take({.kind = EngineEvent::Kind::kResume, .whether = true});
  EXPECT_EQ(world.engine().state(), State::kRunning);
  EXPECT_EQ(world.Running().size(), 3u);
  EXPECT_EQ(world.engine().trials()[1].attempt, 2u);
  world.RunAll(1, Curve);
  EXPECT_EQ(world.engine().reason(), "all 12 trials have ended");
  EXPECT_EQ(world.engine().trials()[1].stage, Stage::kDone);
}

TEST(EngineTest, ARunningTrialIsStoppedWhenTooManyHaveFailed) {
  Plan plan = Small();
  plan.max_failures = 1;
  World world(plan);
  for (int i = 0; i < 3; ++i) world.AnswerQuestion();
  const auto outcome = world.Take(
      {.kind = EngineEvent::Kind::kEnded, .trial = 0, .end = End::kFailed, .text = "killed"});
  EXPECT_EQ(world.engine().state(), State::kStopping);
  EXPECT_EQ(std::count_if(outcome.actions.begin(), outcome.actions.end(),
                          [](const Action& action) { return action.kind == Kind::kStop; }),
            2);
}

TEST(EngineTest, TheTargetEndsTheSweep) {
  Plan plan = Small();
  plan.metric.target = 0.1;
  World world(plan);
  for (int i = 0; i < 3; ++i) world.AnswerQuestion();
  world.Report(1, 0.09);
  EXPECT_EQ(world.engine().state(), State::kStopping);
  world.RunAll(9, Curve);
  EXPECT_EQ(world.engine().state(), State::kDone);
  EXPECT_EQ(world.engine().reason(), "trial 1 has reached the target: loss 0.09");
}

TEST(EngineTest, PauseTakesNoNewTrialsAndResumeGoesOnWithTheSameSuggestion) {
  Plan plan = Small();
  World world(plan), straight(plan);
  for (World* one : {&world, &straight}) {
    for (int i = 0; i < 3; ++i) one->AnswerQuestion();
  }
  world.Take({.kind = EngineEvent::Kind::kPause});
  for (int i = 0; i < 3; ++i) world.Advance(static_cast<std::uint64_t>(i), 1, Curve);
  EXPECT_EQ(world.Running().size(), 0u);
  EXPECT_EQ(world.engine().state(), State::kPaused);
  world.Kill();
  world.Take({.kind = EngineEvent::Kind::kResume});
  EXPECT_EQ(world.Running().size(), 3u);
  for (World* one : {&world, &straight}) {
    one->RunAll(1, Curve);
    EXPECT_EQ(one->engine().trials().size(), 12u);
  }
  for (std::size_t i = 0; i < 12; ++i) {
    EXPECT_EQ(world.engine().trials()[i].config, straight.engine().trials()[i].config);
  }
}

TEST(EngineTest, ASweepThatIsDoneGoesOnWithMoreTrials) {
  World world(Small());
  world.RunAll(1, Curve);
  EXPECT_EQ(world.engine().state(), State::kDone);
  auto more = std::make_shared<Plan>(Small());
  more->max_trials = 15;
  world.Take({.kind = EngineEvent::Kind::kChange, .plan = more});
  EXPECT_EQ(world.engine().state(), State::kDone);
  world.Take({.kind = EngineEvent::Kind::kResume});
  world.RunAll(1, Curve);
  EXPECT_EQ(world.engine().trials().size(), 15u);
  EXPECT_EQ(world.engine().state(), State::kDone);
}

TEST(EngineTest, AChangedSpaceCountsForTheNextSuggestionAndWhatFitsCounts) {
  Plan plan = Small();
  plan.method = Method::kTpe;
  plan.max_trials = 30;
  World world(plan);
  while (world.engine().trials().size() < 15) {
    world.AnswerQuestion();
    if (world.Running().size() == 3) world.Advance(world.Running().begin()->first, 1, Curve);
  }
  const std::size_t running = world.Running().size();
  auto changed = std::make_shared<Plan>(plan);
  changed->method = Method::kGp;
  changed->space = std::make_shared<const Space>(
      *Space::Create({{.name = "x", .low = 0, .high = 0.5}, {.name = "y", .low = -2, .high = 2}}));
  const auto outcome = world.Take({.kind = EngineEvent::Kind::kChange, .plan = changed});
  EXPECT_THAT(outcome.actions.at(0).text, HasSubstr("fit the new space, and count"));
  EXPECT_EQ(world.Running().size(), running);
  world.RunAll(1, Curve);
  ASSERT_EQ(world.engine().trials().size(), 30u);
  for (std::size_t i = 16; i < 30; ++i) {
    EXPECT_LE(world.engine().trials()[i].point->at(0), 0.5);
  }
}

TEST(EngineTest, WhatIsEnqueuedIsTriedNextInOrder) {
  World world(Small());
  world.Take({.kind = EngineEvent::Kind::kEnqueue, .text = R"({"x":0.125,"y":0.5})"});
  world.Take({.kind = EngineEvent::Kind::kEnqueue, .text = R"({"x":0.25,"y":0.5})"});
  EXPECT_THAT(world.Take({.kind = EngineEvent::Kind::kEnqueue, .text = R"({"x":2,"y":0})"})
                  .actions.at(0)
                  .text,
              HasSubstr("parameter x: 2 is not from 0 to 1"));
  world.AnswerQuestion();
  EXPECT_EQ(ConfigText(world.engine().trials()[1].config), R"({"x":0.125,"y":0.5})");
  EXPECT_EQ(ConfigText(world.engine().trials()[2].config), R"({"x":0.25,"y":0.5})");
}

TEST(EngineTest, InFixedOrderSuggestionsDependOnNumbersAlone) {
  for (const Method method : {Method::kTpe, Method::kGp}) {
    Plan plan = Small();
    plan.method = method;
    plan.max_trials = 30;
    plan.parallel = 4;
    plan.fixed_order = true;
    std::set<std::string> sweeps;
    for (std::uint64_t slots : {1, 2, 8}) {
      World world(plan);
      Draws draws(slots, "order", 0);
      while (!world.IsOver()) {
        while (world.AnswerQuestion()) {
        }
        const auto running = world.Running();
        auto one = running.begin();
        // Picks among the trials that have a slot.
        std::advance(one, static_cast<std::ptrdiff_t>(
                              draws.Below(std::min<std::uint64_t>(slots, running.size()))));
        world.Advance(one->first, 1, Curve);
      }
      std::string all;
      for (const auto& trial : world.engine().trials()) all += ConfigText(trial.config);
      sweeps.insert(all);
    }
    EXPECT_EQ(sweeps.size(), 1u);
  }
}

TEST(EngineTest, EarlyStoppingSavesEpochsAndAllTrialsEnd) {
  std::map<Stopping, double> epochs;
  for (const Stopping stopping :
       {Stopping::kNone, Stopping::kAsha, Stopping::kAshaPromotion, Stopping::kHyperband}) {
    Plan plan = Small();
    plan.stopping = stopping;
    plan.max_trials = 60;
    plan.hyperband.max_resource = 27;
    World world(plan);
    world.RunAll(27, Curve);
    EXPECT_EQ(world.engine().state(), State::kDone);
    for (const auto& trial : world.engine().trials()) {
      EXPECT_TRUE(trial.stage == Stage::kDone || trial.stage == Stage::kStoppedEarly);
    }
    epochs[stopping] = world.Epochs();
  }
  EXPECT_EQ(epochs[Stopping::kNone], 60 * 27);
  EXPECT_LT(epochs[Stopping::kAsha], 0.5 * epochs[Stopping::kNone]);
  EXPECT_LT(epochs[Stopping::kAshaPromotion], 0.5 * epochs[Stopping::kNone]);
  EXPECT_LT(epochs[Stopping::kHyperband], 0.7 * epochs[Stopping::kNone]);
}

TEST(EngineTest, AProgramWithoutCheckpointsIsStoppedInsteadOfPaused) {
  Plan plan = Small();
  plan.stopping = Stopping::kAshaPromotion;
  plan.max_trials = 20;
  World world(plan);
  world.loses_checkpoints = true;
  bool noticed = false;
  while (!world.IsOver()) {
    world.AnswerQuestion();
    for (const auto& [trial, at] : world.Running()) {
      const auto& its = world.engine().trials()[trial];
      if (!its.is_started) {
        for (const Action& action : world
                                        .Take({.kind = EngineEvent::Kind::kStarted,
                                   .trial = trial,
                                   .number = its.attempt,
                                   .resource = at})
                                        .actions) {
          noticed |= action.kind == Kind::kNotice;
        }
      }
      world.Advance(trial, 27, Curve);
      if (noticed) {
        EXPECT_NE(world.engine().trials()[trial].answer == TrialDecision::kPause &&
                      world.engine().trials()[trial].stage == Stage::kRunning,
                  true);
      }
    }
  }
  EXPECT_TRUE(noticed);
}

TEST(EngineTest, AMemberOfAPopulationTakesOverFromABetterOne) {
  Plan plan = Small();
  plan.method = Method::kPbt;
  plan.parallel = 4;
  plan.max_trials = 40;
  plan.population = {.members = 4, .interval = 2};
  World world(plan);
  world.RunAll(20, Curve);
  EXPECT_EQ(world.engine().state(), State::kDone);
  const auto best = world.engine().Best();
  bool has_clone = false;
  for (std::uint64_t number = 0; number < world.engine().trials().size(); ++number) {
    const auto& trial = world.engine().trials()[number];
    // The checkpoints of a member that continued elsewhere are no longer needed.
    EXPECT_EQ(world.IsDropped(number), trial.stage == Stage::kStoppedEarly && number != best);
    if (!trial.from) continue;
    has_clone = true;
    EXPECT_LT(*trial.from, number);
    EXPECT_LT(trial.member, 4u);
    EXPECT_NE(trial.member, world.engine().trials()[*trial.from].member);
    EXPECT_GT(trial.generation, 0u);
    const auto schedule = world.engine().Schedule(number);
    ASSERT_GE(schedule.size(), 2u);
    EXPECT_EQ(schedule.front().first, 0);
    EXPECT_EQ(schedule.back().second, trial.config);
    EXPECT_EQ(schedule.back().first, trial.from_resource);
  }
  EXPECT_TRUE(has_clone);
}

TEST(EngineTest, NobodyTakesOverFromAMemberWithoutACheckpoint) {
  Plan plan = Small();
  plan.method = Method::kPbt;
  plan.parallel = 4;
  plan.max_trials = 40;
  plan.population = {.members = 4, .interval = 2};
  World world(plan);
  world.saves = false;
  world.RunAll(20, Curve);
  EXPECT_EQ(world.engine().state(), State::kDone);
  EXPECT_EQ(world.engine().trials().size(), 4u);
  EXPECT_THAT(world.notice(), HasSubstr("which is better, has no checkpoint to take over"));
}

TEST(EngineTest, ATakeOverAtTheEndIsNoFailure) {
  Plan plan = Small();
  plan.method = Method::kPbt;
  plan.parallel = 4;
  plan.max_trials = 0;
  plan.population = {.members = 4, .interval = 2};
  World world(plan);
  world.RunAll(8, Curve);
  EXPECT_EQ(world.engine().state(), State::kDone);
  EXPECT_EQ(world.engine().failed(), 0u);
  std::vector<std::string> reasons;
  for (const auto& trial : world.engine().trials()) reasons.push_back(trial.reason);
  EXPECT_THAT(reasons, testing::Contains(HasSubstr("was at its end when this one took over")));
}

Plan Replayed(const Engine& engine) {
  Plan plan = Small();
  plan.method = Method::kReplay;
  plan.parallel = 1;
  for (const auto& [from, config] : engine.Schedule(*engine.Best())) {
    plan.schedule.push_back({from, config});
  }
  return plan;
}

TEST(EngineTest, AScheduleIsReplayedWithTheSameConfigurationsAtTheSamePoints) {
  Plan plan = Small();
  plan.method = Method::kPbt;
  plan.parallel = 8;
  plan.max_trials = 0;
  plan.population = {.members = 8, .interval = 2};
  World world(plan);
  world.RunAll(41, Curve);
  const Plan schedule = Replayed(world.engine());
  ASSERT_GT(schedule.schedule.size(), 3u);
  World replay(schedule);
  for (int i = 0; i < 1000 && !replay.IsOver(); ++i) {
    const auto running = replay.Running();
    ASSERT_EQ(running.size(), 1u);
    replay.Advance(running.begin()->first, 41, Curve);
    if (i % 3 == 0) replay.Kill();
  }
  EXPECT_EQ(replay.engine().state(), State::kDone);
  ASSERT_EQ(replay.engine().trials().size(), schedule.schedule.size());
  for (std::size_t i = 0; i < schedule.schedule.size(); ++i) {
    const auto& trial = replay.engine().trials()[i];
    EXPECT_EQ(trial.config, schedule.schedule[i].config);
    EXPECT_EQ(trial.from_resource, schedule.schedule[i].from);
  }
  EXPECT_EQ(replay.engine().Schedule(schedule.schedule.size() - 1).size(),
            schedule.schedule.size());
}

TEST(EngineTest, AScheduleWaitsForACheckpointAndIsNotChanged) {
  Plan plan = Small();
  plan.method = Method::kReplay;
  plan.parallel = 1;
  plan.schedule = {{0, {{"x", "0.5"}, {"y", "0"}}}, {2, {{"x", "0.25"}, {"y", "0"}}}};
  World world(plan);
  world.saves = false;
  for (int i = 0; i < 5; ++i) world.Advance(0, 9, Curve);
  EXPECT_EQ(world.engine().trials().size(), 1u);
  EXPECT_THAT(world.notice(), HasSubstr("it has no checkpoint for the next of the schedule"));
  // The notice appears once, and reports that change nothing are not stored.
  const std::size_t stored = world.stored().size();
  world.Kill();
  for (double epoch = 6; epoch < 9; ++epoch) {
    const Engine::Outcome outcome = world.Take(
        {.kind = EngineEvent::Kind::kReported, .trial = 0, .resource = epoch, .value = 5});
    EXPECT_FALSE(outcome.changed);
    EXPECT_THAT(outcome.actions,
                testing::ElementsAre(testing::Field(&Action::kind, Kind::kAnswer)));
  }
  EXPECT_EQ(world.stored().size(), stored);
  world.saves = true;
  world.Advance(0, 9, Curve);
  ASSERT_EQ(world.engine().trials().size(), 2u);
  EXPECT_EQ(world.engine().trials()[1].from_resource, 6);
  EngineEvent change = {.kind = EngineEvent::Kind::kChange};
  change.plan = std::make_shared<const Plan>(Small());
  EXPECT_FALSE(world.Take(change).changed);
  EXPECT_THAT(world.notice(), HasSubstr("begin another sweep"));
  plan.schedule[1].from = 0;
  EXPECT_FALSE(Engine::Create(std::make_shared<const Plan>(plan)).ok());
  plan.schedule.clear();
  EXPECT_FALSE(Engine::Create(std::make_shared<const Plan>(plan)).ok());
}

TEST(EngineTest, AStoredTakeOverCountsWhateverWouldBeDrawnNow) {
  Plan plan = Small();
  plan.method = Method::kPbt;
  plan.parallel = 4;
  plan.max_trials = 5;
  plan.population = {.members = 4, .interval = 2};
  World world(plan);
  world.RunAll(20, Curve);
  ASSERT_EQ(world.engine().trials().size(), 5u);
  Engine again = *Engine::Create(std::make_shared<const Plan>(plan));
  std::uint64_t donor = 0;
  for (EngineEvent event : world.stored()) {
    if (event.kind == EngineEvent::Kind::kReported && event.number > 0) {
      while (donor == event.trial || donor + 1 == event.number) ++donor;
      event.number = donor + 1;
      event.text = R"({"x":0.125,"y":0.5})";
    }
    again.Apply(event);
  }
  ASSERT_EQ(again.trials().size(), 5u);
  EXPECT_EQ(again.trials()[4].from, donor);
  EXPECT_EQ(ConfigText(again.trials()[4].config), R"({"x":0.125,"y":0.5})");
}

EngineEvent Suggested(std::uint64_t trial, std::uint64_t number, std::string config) {
  return {.kind = EngineEvent::Kind::kSuggested,
          .trial = trial,
          .number = number,
          .text = std::move(config)};
}
EngineEvent Started(std::uint64_t trial, double resource) {
  return {.kind = EngineEvent::Kind::kStarted, .trial = trial, .number = 1, .resource = resource};
}
EngineEvent Reported(std::uint64_t trial, double resource, double value,
                     TrialDecision decided = TrialDecision::kContinue) {
  return {.kind = EngineEvent::Kind::kReported,
          .trial = trial,
          .resource = resource,
          .value = value,
          .decided = decided};
}

// The first version with populations stored these events. It compared members by their latest
// values, and stored neither the donor nor the configuration of a take-over.
TEST(EngineTest, ATakeOverThatWasStoredWithoutItsDonorIsTheSame) {
  Plan plan = Small();
  plan.method = Method::kPbt;
  plan.parallel = 4;
  plan.max_trials = 7;
  plan.population = {.members = 4, .interval = 2};
  const std::vector<EngineEvent> stored = {
      {.kind = EngineEvent::Kind::kBegin},
      Suggested(0, 1, R"({"x":0.4821627935089754,"y":0.4389419929762026})"),
      Suggested(1, 2, R"({"x":0.2967786325747592,"y":0.9692931809403378})"),
      Suggested(2, 3, R"({"x":0.6730667360972901,"y":-0.4509218966730113})"),
      Suggested(3, 4, R"({"x":0.4112117368244379,"y":-0.8395548183646437})"),
      Started(1, 0),
      Reported(1, 1, 1.276),
      Reported(1, 2, 1.11),
      Started(0, 0),
      Reported(0, 1, 0.753),
      Reported(1, 3, 1.026),
      Reported(1, 4, 0.976),
      Started(2, 0),
      Reported(2, 1, 1.206),
      Reported(2, 2, 1.039, TrialDecision::kStop),
      Reported(1, 5, 0.943),
      Reported(1, 6, 0.919),
      Reported(1, 7, 0.901),
      Reported(1, 8, 0.887),
      Reported(1, 9, 0.876),
      Reported(0, 2, 0.586),
      Reported(0, 3, 0.503),
      {.kind = EngineEvent::Kind::kEnded, .trial = 2, .end = End::kStopped},
      Started(4, 9),
      Reported(4, 10, 0.426),
      Started(3, 0),
      Reported(3, 1, 1.54),
      Reported(4, 11, 0.418),
      Reported(0, 4, 0.453),
      Reported(4, 12, 0.412),
      Reported(4, 13, 0.406),
      Reported(3, 2, 1.373, TrialDecision::kStop),
      Reported(0, 5, 0.419),
      Reported(0, 6, 0.396),
      Reported(0, 7, 0.378),
      Reported(1, 10, 0.867, TrialDecision::kStop)};
  Engine engine = *Engine::Create(std::make_shared<const Plan>(plan));
  for (std::size_t i = 0; i < stored.size(); ++i) {
    const Engine::Outcome outcome = engine.Apply(stored[i]);
    EXPECT_TRUE(outcome.changed) << i;
    EXPECT_EQ(outcome.decided, stored[i].decided) << i;
  }
  ASSERT_EQ(engine.trials().size(), 7u);
  EXPECT_EQ(engine.trials()[4].from, 1u);
  EXPECT_EQ(ConfigText(engine.trials()[4].config),
            R"({"x":0.7244443610027248,"y":0.11817585073766157})");
  EXPECT_EQ(engine.trials()[5].from, 4u);
  EXPECT_EQ(ConfigText(engine.trials()[5].config),
            R"({"x":0.5795554888021799,"y":0.42279440053321915})");
  EXPECT_EQ(engine.trials()[6].from, 0u);
  EXPECT_EQ(ConfigText(engine.trials()[6].config),
            R"({"x":0.3857302348071803,"y":-0.8839312037900637})");
  // A donor's checkpoint exists once it has reported after saving.
  const Engine::Outcome next = engine.Apply({.kind = EngineEvent::Kind::kReported,
                                             .trial = 4,
                                             .resource = 14,
                                             .value = 0.4,
                                             .whether = true});
  EXPECT_TRUE(next.changed);
  EXPECT_EQ(next.decided, TrialDecision::kContinue);
}

// The gain of an epoch depends on the distance of x from a moving place, so no fixed x is right.
double Gain(double x, double epoch) {
  const double distance = x - (0.1 + 0.8 * epoch / 40);
  return 1 - 4 * distance * distance;
}

TEST(EngineTest, APopulationFollowsAScheduleThatNoFixedConfigurationHas) {
  double fixed = 0;
  for (double x = 0; x <= 1; x += 0.01) {
    double sum = 0;
    for (int epoch = 1; epoch <= 40; ++epoch) sum += Gain(x, epoch);
    fixed = std::max(fixed, sum);
  }
  int better = 0;
  for (std::uint64_t seed = 100; seed < 120; ++seed) {
    Plan plan = Small();
    plan.method = Method::kPbt;
    plan.metric = {.name = "score", .maximize = true};
    plan.seed = seed;
    plan.parallel = 8;
    plan.max_trials = 0;
    plan.population = {.members = 8, .interval = 2};
    World world(plan);
    std::map<std::uint64_t, std::map<double, double>> scores;  // By trial and epoch.
    for (int i = 0; i < 100000 && !world.IsOver(); ++i) {
      while (world.AnswerQuestion()) {
      }
      for (const auto& [trial, at] : world.Running()) {
        const auto& its = world.engine().trials()[trial];
        if (!scores.contains(trial)) scores[trial][at] = its.from ? scores[*its.from][at] : 0;
        const double score = scores[trial][at] + Gain(its.point->at(0), at + 1);
        scores[trial][at + 1] = score;
        world.Advance(trial, 40, [&](const Point&, double) { return score; });
      }
    }
    const auto best = world.engine().Best();
    better += *world.engine().trials()[*best].value > fixed ? 1 : 0;
  }
  EXPECT_GE(better, 18);
}

TEST(EngineTest, WhoGoesOnWithATrialThatWasStoppedEarlyIsListenedTo) {
  Plan plan = Small();
  plan.stopping = Stopping::kAsha;
  World world(plan);
  for (int i = 0; i < 3; ++i) world.AnswerQuestion();
  world.Report(0, 0.1);
  world.Report(1, 0.9);
  world.End(1, End::kStopped);
  world.Take({.kind = EngineEvent::Kind::kStarted, .trial = 1, .number = 2, .resource = 1});
  EXPECT_EQ(world.engine().trials()[1].stage, Stage::kRunning);
  EXPECT_EQ(world.Report(1, 0.8), TrialDecision::kContinue);
  world.End(1, End::kDone);
  EXPECT_EQ(world.engine().trials()[1].stage, Stage::kDone);
}

Plan WithTwoMetrics() {
  Plan plan = Small();
  plan.method = Method::kTpe;
  plan.metric = {.name = "loss", .last = true};
  plan.second = PlanMetric{.name = "speed", .maximize = true, .last = true};
  return plan;
}

void ReportBoth(World& world, std::uint64_t trial, double first, std::optional<double> second) {
  world.Take({.kind = EngineEvent::Kind::kReported,
              .trial = trial,
              .resource = 1,
              .value = first,
              .others = {second}});
}

TEST(EngineTest, TwoMetricsHaveAFrontAndTheBestOfTheFirstIsShown) {
  World world(WithTwoMetrics());
  for (int i = 0; i < 3; ++i) world.AnswerQuestion();
  ReportBoth(world, 0, 0.5, 10);
  ReportBoth(world, 1, 0.25, 5);
  ReportBoth(world, 2, 0.6, 9);
  EXPECT_THAT(world.engine().Front(), testing::ElementsAre(1, 0));
  EXPECT_EQ(world.engine().Best(), 1u);
  // The last value counts, even if it comes in a report without the first objective.
  world.Take({.kind = EngineEvent::Kind::kMeasured, .trial = 2, .others = {20.0}});
  EXPECT_THAT(world.engine().Front(), testing::ElementsAre(1, 0, 2));
  const auto again =
      world.Take({.kind = EngineEvent::Kind::kMeasured, .trial = 2, .others = {20.0}});
  EXPECT_FALSE(again.changed);
  world.Kill();
  EXPECT_THAT(world.engine().Front(), testing::ElementsAre(1, 0, 2));
  for (std::uint64_t trial = 0; trial < 3; ++trial) world.End(trial, End::kDone);
  const auto history = world.engine().History(1000);
  EXPECT_EQ(history[2].value, 0.6);
  EXPECT_EQ(history[2].second, -20);
}

TEST(EngineTest, ATrialThatLacksOneOfTwoMetricsHasFailed) {
  World world(WithTwoMetrics());
  for (int i = 0; i < 2; ++i) world.AnswerQuestion();
  ReportBoth(world, 0, 0.5, std::nullopt);
  ReportBoth(world, 1, 0.5, kNan);
  EXPECT_TRUE(world.engine().Front().empty());
  world.End(0, End::kDone);
  world.End(1, End::kDone);
  EXPECT_EQ(world.engine().trials()[0].stage, Stage::kFailed);
  EXPECT_EQ(world.engine().trials()[0].reason, "speed was never reported as a number");
  EXPECT_EQ(world.engine().trials()[1].reason, "speed is NaN at the end");
}

Plan WithAConstraint() {
  Plan plan = Small();
  plan.metric.target = 0.1;
  plan.metric_constraints = {*Constraint::Parse("ms <= 20 + 0 * x")};
  plan.watched = {"ms"};
  return plan;
}

TEST(EngineTest, ATrialThatBreaksAConstraintOfAMetricIsNeverTheBest) {
  World world(WithAConstraint());
  for (int i = 0; i < 3; ++i) world.AnswerQuestion();
  ReportBoth(world, 0, 0.3, 25);
  ReportBoth(world, 1, 0.4, std::nullopt);
  // The trial cannot be judged yet.
  EXPECT_EQ(world.engine().Best(), std::nullopt);
  EXPECT_EQ(world.engine().Breaks(world.engine().trials()[0]), "ms <= 20 + 0 * x");
  EXPECT_EQ(world.engine().Breaks(world.engine().trials()[1]), "");
  // A trial that violates a constraint does not reach the target.
  ReportBoth(world, 0, 0.05, 25);
  EXPECT_EQ(world.engine().state(), State::kRunning);
  ReportBoth(world, 2, 0.6, 15);
  EXPECT_EQ(world.engine().Best(), 2u);
  world.Kill();
  EXPECT_EQ(world.engine().Best(), 2u);
  for (std::uint64_t trial = 0; trial < 3; ++trial) world.End(trial, End::kDone);
  EXPECT_EQ(world.engine().trials()[0].stage, Stage::kDone);
  EXPECT_EQ(world.engine().Breaks(world.engine().trials()[1]), "ms <= 20 + 0 * x (not reported)");
  const auto history = world.engine().History(1000);
  EXPECT_THAT(history[0].excesses, testing::ElementsAre(5));
  EXPECT_TRUE(std::isinf(history[1].excesses.front()));
  EXPECT_THAT(history[2].excesses, testing::ElementsAre(-5));
  // A trial that meets it does.
  world.AnswerQuestion();
  ReportBoth(world, 3, 0.05, 20);
  EXPECT_EQ(world.engine().state(), State::kStopping);
}

TEST(EngineTest, TheTargetIsReachedOnceALaterReportSaysThatTheConstraintHolds) {
  World world(WithAConstraint());
  for (int i = 0; i < 3; ++i) world.AnswerQuestion();
  ReportBoth(world, 0, 0.05, std::nullopt);
  world.Take({.kind = EngineEvent::Kind::kMeasured, .trial = 0, .others = {25.0}});
  EXPECT_EQ(world.engine().state(), State::kRunning);
  world.Take({.kind = EngineEvent::Kind::kMeasured, .trial = 1, .others = {10.0}});
  EXPECT_EQ(world.engine().state(), State::kRunning);
  const auto outcome =
      world.Take({.kind = EngineEvent::Kind::kMeasured, .trial = 0, .others = {20.0}});
  EXPECT_EQ(world.engine().state(), State::kStopping);
  EXPECT_EQ(world.engine().reason(), "trial 0 has reached the target: loss 0.05");
  EXPECT_FALSE(outcome.actions.empty());
  world.Kill();
  EXPECT_EQ(world.engine().state(), State::kStopping);
  // A report while the sweep stops does not change the reason.
  world.Take({.kind = EngineEvent::Kind::kMeasured, .trial = 0, .others = {19.0}});
  EXPECT_EQ(world.engine().state(), State::kStopping);
}

TEST(EngineTest, AChangedPlanTakesValuesOfFurtherMetricsAlongByTheirNames) {
  World world(WithTwoMetrics());
  world.AnswerQuestion();
  ReportBoth(world, 0, 0.5, 10);
  world.End(0, End::kDone);
  Plan changed = WithAConstraint();
  changed.metric = {.name = "loss", .last = true};
  changed.metric_constraints = {*Constraint::Parse("ms <= 20"), *Constraint::Parse("speed > 50")};
  changed.watched = {"ms", "speed"};
  world.Take({.kind = EngineEvent::Kind::kChange, .plan = std::make_shared<const Plan>(changed)});
  EXPECT_EQ(world.engine().Breaks(world.engine().trials()[0]),
            "ms <= 20 (not reported); speed > 50");
  EXPECT_EQ(world.engine().History(1000)[0].excesses.back(), 40);
}

TEST(EngineTest, TwoMetricsAndConstraintsGoOnTheSameAfterAnyKill) {
  for (const Method method : {Method::kTpe, Method::kGp, Method::kBayes}) {
    Plan plan = WithTwoMetrics();
    plan.method = method;
    plan.max_trials = 24;
    plan.metric_constraints = {*Constraint::Parse("ms <= 0.8")};
    plan.watched = {"ms"};
    std::string whole;
    for (const bool kills : {false, true}) {
      World world(plan);
      for (int i = 0; i < 1000 && !world.IsOver(); ++i) {
        if (kills && i % 3 == 0) world.Kill();
        world.AnswerQuestion();
        if (world.Running().empty()) continue;
        const std::uint64_t trial = world.Running().begin()->first;
        const Point& point = *world.engine().trials()[trial].point;
        world.Take({.kind = EngineEvent::Kind::kReported,
                    .trial = trial,
                    .resource = 1,
                    .value = point[0] * point[0],
                    .others = {-std::pow(point[0] - 1, 2), std::abs(point[1])}});
        world.End(trial, End::kDone);
      }
      EXPECT_EQ(world.engine().state(), State::kDone);
      const std::string text = World::Text(world.engine());
      if (whole.empty()) whole = text;
      EXPECT_EQ(text, whole);
      EXPECT_GT(world.engine().Front().size(), 3u);
      for (const std::uint64_t number : world.engine().Front()) {
        EXPECT_LE(std::abs(world.engine().trials()[number].point->at(1)), 0.8);
      }
    }
  }
}

TEST(EngineTest, APlanThatCannotBeIsRefused) {
  const auto why = [](const Plan& plan) {
    return std::string(Engine::Create(std::make_shared<const Plan>(plan)).status().message());
  };
  Plan plan = Small();
  plan.parallel = 0;
  EXPECT_THAT(why(plan), HasSubstr("parallel is 0"));
  plan = Small();
  plan.stopping = Stopping::kAsha;
  plan.asha.eta = 1;
  EXPECT_THAT(why(plan), HasSubstr("eta is 1"));
  plan = Small();
  plan.method = Method::kGrid;
  EXPECT_THAT(why(plan), HasSubstr("parameter x: a grid takes"));
  plan = Small();
  plan.method = Method::kPbt;
  plan.population.members = 1;
  EXPECT_THAT(why(plan), HasSubstr("at least two members"));
  plan = Small();
  plan.fixed_order = true;
  plan.stopping = Stopping::kHyperband;
  EXPECT_THAT(why(plan), HasSubstr("order is fixed"));
  plan = WithTwoMetrics();
  plan.method = Method::kCmaes;
  EXPECT_THAT(why(plan), HasSubstr("cmaes looks for the best of one metric"));
}

}  // namespace
}  // namespace tuning
