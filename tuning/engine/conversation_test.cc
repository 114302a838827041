#include "tuning/engine/conversation.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tuning/engine/engine.h"
#include "tuning/engine/engine_event.h"
#include "tuning/engine/plan.h"
#include "tuning/space/config.h"
#include "tuning/space/constraint.h"
#include "tuning/space/space.h"

namespace tuning {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;
using Meaning = Conversation::Answer::Kind;

std::shared_ptr<Plan> PlanOf(std::uint64_t trials = 20, std::size_t parallel = 3) {
  auto plan = std::make_shared<Plan>();
  plan->space = std::make_shared<const Space>(
      *Space::Create({{.name = "x", .low = 0, .high = 1},
                      {.name = "n", .kind = tuning::Kind::kInt, .low = 1, .high = 9, .step = 2},
                      {.name = "opt", .kind = tuning::Kind::kCategory, .values = {"\"a\"", "7"}},
                      {.name = "m",
                       .distribution = Distribution::kLogUniform,
                       .low = 0.1,
                       .high = 10,
                       .when = Condition{"opt", {"7"}}}}));
  plan->constants = {{"epochs", "3"}};
  plan->method = Method::kExternal;
  plan->metric = {.name = "loss"};
  plan->seed = 7;
  plan->max_trials = trials;
  plan->parallel = parallel;
  plan->external = {.command = {"optimiser"}, .options = R"({"depth":2})"};
  return plan;
}

// Decides by everything that it was told, in order.
class Optimiser {
 public:
  std::string Answer(const std::string& line) {
    heard_.push_back(line);
    for (const char c : line) state_ = state_ * 31 + static_cast<unsigned char>(c);
    const Json request = Json::parse(line);
    if (request["t"] == "start") return R"({"t":"ready","v":1,"name":"one of ours"})";
    if (request["t"] != "ask") return R"({"t":"ok"})";
    if (waits_every > 0 && ++asks_ % waits_every == 0) return R"({"t":"wait"})";
    const bool bad = bad_every > 0 && state_ % bad_every == 0;
    return absl::StrCat(R"({"t":"config","config":{"x":)", static_cast<double>(state_ % 997) / 997,
                        R"(,"n":)", bad ? 2 : 1 + state_ % 5 * 2, R"(,"opt":"a"}})");
  }
  const std::vector<std::string>& heard() const { return heard_; }
  unsigned bad_every = 0;
  int waits_every = 0;

 private:
  unsigned state_ = 1;
  int asks_ = 0;
  std::vector<std::string> heard_;
};

// A sweep whose trials end in an order of their own. At line `dies_at` its optimiser is replaced
// once.
struct World {
  explicit World(std::shared_ptr<Plan> plan) : engine(*Engine::Create(plan)) {
    Take({.kind = EngineEvent::Kind::kBegin});
  }
  void Take(const EngineEvent& event) {
    const auto outcome = engine.Apply(event);
    for (const Action& action : outcome.actions) {
      if (action.kind != Action::Kind::kStart) continue;
      configs.push_back(action.text);
      running.push_back(action.trial);
      engine.Apply(
          {.kind = EngineEvent::Kind::kStarted, .trial = action.trial, .number = action.number});
    }
  }
  bool Talk(const std::function<Optimiser()>& make, std::optional<std::size_t>& dies_at) {
    if (!optimiser) optimiser = make();
    if (dies_at && lines == *dies_at) {
      dies_at.reset();
      optimiser = make();
      conversation = Conversation();
    }
    const auto line = conversation.Next(engine);
    if (!line) return false;
    ++lines;
    const auto answer = conversation.Take(engine, optimiser->Answer(*line));
    EXPECT_NE(answer.kind, Meaning::kBroken) << answer.text;
    EngineEvent event = {.trial = answer.trial, .number = answer.number, .text = answer.text};
    event.kind = answer.kind == Meaning::kSuggested ? EngineEvent::Kind::kSuggested
                 : answer.kind == Meaning::kRefused ? EngineEvent::Kind::kRefused
                                                    : EngineEvent::Kind::kExhausted;
    if (answer.kind != Meaning::kHeard) Take(event);
    return true;
  }
  void EndOne() {
    const std::size_t at = (running.size() * 7 + configs.size()) % running.size();
    const std::uint64_t trial = running[at];
    running.erase(running.begin() + static_cast<long>(at));
    const bool fails = trial % 5 == 4;
    if (!fails) {
      engine.Apply({.kind = EngineEvent::Kind::kReported,
                    .trial = trial,
                    .resource = 1,
                    .value = static_cast<double>(trial % 7)});
    }
    Take({.kind = EngineEvent::Kind::kEnded,
          .trial = trial,
          .end = fails ? End::kFailed : End::kDone});
  }
  // Runs to the end of the sweep.
  void Run(const std::function<Optimiser()>& make, std::optional<std::size_t> dies_at = {}) {
    while (engine.state() == Engine::State::kRunning) {
      if (Talk(make, dies_at)) continue;
      ASSERT_FALSE(running.empty()) << "nothing goes on";
      EndOne();
    }
  }

  Engine engine;
  Conversation conversation;
  std::optional<Optimiser> optimiser;
  std::size_t lines = 0;
  std::vector<std::string> configs;
  std::vector<std::uint64_t> running;
};

TEST(ConversationTest, BeginsWithTheSpaceAndWhatIsWanted) {
  const Engine engine = *Engine::Create(PlanOf());
  Conversation conversation;
  const Json start = Json::parse(*conversation.Next(engine));
  EXPECT_EQ(start["seed"], 7);
  EXPECT_EQ(start["options"], Json::parse(R"({"depth":2})"));
  EXPECT_EQ(start["objectives"], Json::parse(R"([{"name":"loss","goal":"minimize"}])"));
  EXPECT_EQ(start["space"], Json::parse(R"({"x":{"type":"float","min":0,"max":1},)"
                                        R"("n":{"type":"int","min":1,"max":9,"q":2},)"
                                        R"("opt":{"type":"categorical","values":["a",7]},)"
                                        R"("m":{"type":"float","min":0.1,"max":10,"log":true,)"
                                        R"("when":{"opt":[7]}}})"));
  EXPECT_EQ(conversation.Take(engine, R"({"t":"ready","name":"o 5"})").kind, Meaning::kHeard);
  EXPECT_EQ(conversation.name(), "o 5");
}

TEST(ConversationTest, AResultIsToldOnceAndBeforeTheQuestionsThatFollowIt) {
  World world(PlanOf(20, 1));
  world.Run([] { return Optimiser(); });
  ASSERT_EQ(world.configs.size(), 20u);
  EXPECT_THAT(world.configs.front(), HasSubstr("\"epochs\":3"));
  std::vector<std::string> kinds;
  for (const std::string& line : world.optimiser->heard()) {
    const Json json = Json::parse(line);
    kinds.push_back(json["t"].get<std::string>());
    if (kinds.back() == "tell" && json["id"] == 4) {
      EXPECT_EQ(json["state"], "failed");
      EXPECT_TRUE(json["values"].empty());
    }
    if (kinds.back() == "tell" && json["id"] == 5) {
      EXPECT_EQ(json["values"], Json::parse("[5.0]"));
      EXPECT_EQ(json["config"]["epochs"], 3);
    }
  }
  std::vector<std::string> expected = {"start"};
  for (int i = 0; i < 20; ++i) {
    expected.push_back("ask");
    if (i < 19) expected.push_back("tell");
  }
  EXPECT_EQ(kinds, expected);
}

TEST(ConversationTest, AnotherProgramIsToldTheSameAndSuggestsTheSame) {
  for (const unsigned bad_every : {0u, 3u}) {
    for (const int waits_every : {0, 4}) {
      const auto make = [&] {
        Optimiser optimiser;
        optimiser.bad_every = bad_every;
        optimiser.waits_every = waits_every;
        return optimiser;
      };
      World whole(PlanOf());
      whole.Run(make);
      ASSERT_EQ(whole.configs.size(), 20u);
      for (std::size_t at = 1; at < whole.lines; ++at) {
        World killed(PlanOf());
        killed.Run(make, at);
        EXPECT_EQ(killed.configs, whole.configs) << "killed at line " << at;
        EXPECT_EQ(killed.optimiser->heard(), whole.optimiser->heard());
      }
    }
  }
}

TEST(ConversationTest, AnAnswerThatDiffersIsNotUsedAndItIsToldSo) {
  World world(PlanOf(3, 1));
  std::optional<std::size_t> dies_at;
  const auto make = [] { return Optimiser(); };
  while (world.configs.empty()) ASSERT_TRUE(world.Talk(make, dies_at));
  Conversation again;
  EXPECT_THAT(*again.Next(world.engine), HasSubstr("start"));
  again.Take(world.engine, R"({"t":"ready"})");
  world.EndOne();
  EXPECT_THAT(*again.Next(world.engine), HasSubstr(R"({"t":"ask","id":0})"));
  again.Take(world.engine, R"({"t":"config","config":{"x":0.5,"n":3,"opt":"a"}})");
  EXPECT_THAT(*again.Next(world.engine), HasSubstr("trial 0 was started with"));
  again.Take(world.engine, R"({"t":"ok"})");
  EXPECT_THAT(*again.Next(world.engine), HasSubstr("\"t\":\"tell\""));
}

TEST(ConversationTest, WhatCannotBeTriedIsToldAsFailedAndEndsTheSweepAtLast) {
  World world(PlanOf(3, 1));
  std::vector<std::string> errors;
  for (const char* bad : {R"({"t":"config","config":{"x":2,"n":1,"opt":"a"}})",
                          R"({"t":"config","config":{"x":0.5,"opt":"a"}})",
                          R"({"t":"config","config":{"x":0.5,"n":1,"opt":"a","y":1}})",
                          R"({"t":"config","config":{"x":0.5,"n":1,"opt":7}})",
                          R"({"t":"config","config":7})", R"({"t":"config"})"}) {
    for (;;) {
      const std::string line = *world.conversation.Next(world.engine);
      const Json json = Json::parse(line);
      if (json.contains("error")) errors.push_back(json["error"]);
      const bool is_ask = json["t"] == "ask";
      const auto answer =
          world.conversation.Take(world.engine, is_ask                 ? std::string(bad)
                                                : json["t"] == "start" ? R"({"t":"ready"})"
                                                                       : R"({"t":"ok"})");
      if (!is_ask) continue;
      EXPECT_EQ(answer.kind, Meaning::kRefused) << bad;
      world.Take({.kind = EngineEvent::Kind::kRefused,
                  .trial = answer.trial,
                  .number = answer.number,
                  .text = answer.text});
      break;
    }
  }
  ASSERT_EQ(errors.size(), 5u);
  EXPECT_THAT(errors[1], HasSubstr("parameter n has no value"));
  EXPECT_THAT(errors[2], HasSubstr("there is no parameter y"));
  EXPECT_THAT(errors[3], HasSubstr("parameter m has no value"));
  EXPECT_TRUE(world.configs.empty());
  while (const auto now = world.engine.AskedNow()) {
    world.Take({.kind = EngineEvent::Kind::kRefused,
                .trial = now->first,
                .number = now->second,
                .text = "it is nothing"});
  }
  EXPECT_EQ(world.engine.state(), Engine::State::kFailed);
  EXPECT_THAT(world.engine.reason(), HasSubstr("100 times in a row"));
  EXPECT_THAT(world.engine.reason(), HasSubstr("it is nothing"));
}

TEST(ConversationTest, AConfigurationIsTriedOnceUnlessItMayBeTwice) {
  for (const bool duplicates : {false, true}) {
    auto plan = PlanOf(3, 1);
    plan->duplicates = duplicates;
    World world(plan);
    const auto now = *world.engine.AskedNow();
    world.Take({.kind = EngineEvent::Kind::kSuggested,
                .trial = now.first,
                .number = now.second,
                .text = R"({"x":0.5,"n":1,"opt":"a","epochs":3})"});
    const auto again = world.engine.Check(R"({"x":0.5,"n":1,"opt":"a"})");
    EXPECT_EQ(again.ok(), duplicates);
    if (!duplicates) {
      EXPECT_THAT(std::string(again.status().message()), HasSubstr("trial 0"));
    }
  }
}

TEST(ConversationTest, TwoMetricsAndConstraintsAreTold) {
  Plan plan = *PlanOf(20, 1);
  plan.second = PlanMetric{.name = "speed", .maximize = true};
  plan.metric_constraints = {*Constraint::Parse("ms <= 20")};
  plan.watched = {"ms"};
  Engine engine = *Engine::Create(std::make_shared<const Plan>(plan));
  engine.Apply({.kind = EngineEvent::Kind::kBegin});
  Conversation conversation;
  const auto next = [&] { return Json::parse(conversation.Next(engine).value()); };
  const Json start = next();
  EXPECT_EQ(start["objectives"][1], Json::parse(R"({"name":"speed","goal":"maximize"})"));
  EXPECT_EQ(start["constraints"], Json::parse(R"(["ms <= 20"])"));
  conversation.Take(engine, R"({"t":"ready"})");
  next();
  const auto answer =
      conversation.Take(engine, R"({"t":"config","config":{"x":0.5,"n":1,"opt":"a"}})");
  ASSERT_EQ(answer.kind, Meaning::kSuggested);
  engine.Apply({.kind = EngineEvent::Kind::kSuggested,
                .trial = answer.trial,
                .number = answer.number,
                .text = answer.text});
  engine.Apply({.kind = EngineEvent::Kind::kReported,
                .trial = 0,
                .resource = 1,
                .value = 0.5,
                .others = {3.0, 25.0}});
  engine.Apply({.kind = EngineEvent::Kind::kEnded, .trial = 0, .end = End::kDone});
  const Json told = next();
  EXPECT_EQ(told["values"], Json::parse("[0.5,3.0]"));
  EXPECT_EQ(told["constraints"], Json::parse("[5.0]"));
}

TEST(ConversationTest, WhatIsNoAnswerBreaksIt) {
  for (const char* line :
       {"", "garbage", "[]", "{}", R"({"t":7})", R"({"t":"hello"})", R"({"t":"error"})"}) {
    const Engine engine = *Engine::Create(PlanOf());
    Conversation conversation;
    conversation.Next(engine);
    EXPECT_EQ(conversation.Take(engine, line).kind, Meaning::kBroken) << line;
  }
  const Engine engine = *Engine::Create(PlanOf());
  Conversation conversation;
  conversation.Next(engine);
  const auto answer = conversation.Take(engine, std::string(100'000, 'x'));
  EXPECT_EQ(answer.kind, Meaning::kBroken);
  EXPECT_LT(answer.text.size(), 400u);
}

TEST(ConversationTest, WhenItWaitsAndNothingRunsItIsStuck) {
  World world(PlanOf(3, 2));
  std::optional<std::size_t> dies_at;
  const auto make = [] {
    Optimiser optimiser;
    optimiser.waits_every = 1;
    return optimiser;
  };
  while (world.Talk(make, dies_at)) continue;
  EXPECT_TRUE(world.conversation.IsStuck(world.engine));
}

TEST(ConversationTest, AfterAChangeAnotherOneIsToldWhatFits) {
  World world(PlanOf(30, 1));
  std::optional<std::size_t> dies_at;
  const auto make = [] { return Optimiser(); };
  while (world.configs.size() < 10) {
    if (!world.Talk(make, dies_at)) world.EndOne();
  }
  world.Take({.kind = EngineEvent::Kind::kChange, .plan = PlanOf(12, 1)});
  EXPECT_EQ(world.engine.changes(), 1u);
  world.conversation = Conversation();
  world.optimiser.reset();
  world.Run(make);
  EXPECT_EQ(world.configs.size(), 12u);
  const auto& heard = world.optimiser->heard();
  const auto adds = std::count_if(heard.begin(), heard.end(), [](const std::string& line) {
    return line.find("\"t\":\"add\"") != std::string::npos;
  });
  // (Nine had ended, one of them failed; the tenth was running.)
  EXPECT_EQ(adds, 8);
}

}  // namespace
}  // namespace tuning
