#include "trainer/sweep/sweep_input.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/sweep/sweep_plan.h"

namespace trainer {
namespace {

using ::testing::HasSubstr;
using tuning::Engine;
using tuning::EngineEvent;
using Kind = EngineEvent::Kind;
using Stage = Engine::Stage;

constexpr char kPlan[] =
    R"({"method":"random","metric":{"name":"loss"},"run_cap":4,"parallel":2,"seed":3,)"
    R"("parameters":{"x":{"min":0.0,"max":1.0}}})";
constexpr char kTwoObjectives[] =
    R"({"method":"random","metrics":[{"name":"loss"},{"name":"size"}],"run_cap":4,"seed":3,)"
    R"("parameters":{"x":{"min":0.0,"max":1.0}}})";

Metric Number(const std::string& name, double value) { return {name, value, ""}; }

std::shared_ptr<const tuning::Plan> PlanOf(const std::string& json) {
  const auto read = ReadSweepPlan(json);
  EXPECT_TRUE(read.ok()) << read.status();
  return read.ok() ? read->plan : nullptr;
}

Engine Begun() {
  Engine engine = Engine::Create(PlanOf(kPlan)).value();
  engine.Apply({.kind = Kind::kBegin});
  return engine;
}

msg::TrialT Shown(msg::TrialState state, const std::string& reason = "") {
  msg::TrialT trial;
  trial.state = state;
  trial.reason = reason;
  return trial;
}

Engine::Trial In(Stage stage, bool is_started = true) {
  Engine::Trial trial;
  trial.stage = stage;
  trial.attempt = 1;
  trial.is_started = is_started;
  return trial;
}

TEST(EventOfReportTest, IsTheValueOfTheSweepsMetric) {
  const auto plan = PlanOf(kPlan);
  const auto event = EventOfReport(*plan, {Number("acc", 1), Number("loss", 2)});
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->kind, Kind::kReported);
  EXPECT_EQ(event->value, 2);
  EXPECT_TRUE(event->others.empty());
  EXPECT_FALSE(EventOfReport(*plan, {Number("acc", 1)}).has_value());
  EXPECT_FALSE(EventOfReport(*plan, {Metric{"loss", std::nullopt, "high"}}).has_value())
      << "it is no number";
}

TEST(EventOfReportTest, WithoutItsFirstObjectiveAReportIsAMeasurement) {
  const auto plan = PlanOf(kTwoObjectives);
  const auto event = EventOfReport(*plan, {Number("size", 7)});
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->kind, Kind::kMeasured);
  EXPECT_THAT(event->others, testing::ElementsAre(testing::Optional(7.0)));
}

TEST(EventOfTrialTest, TellsHowARunningTrialHasEnded) {
  const std::vector<std::pair<msg::TrialState, tuning::End>> ends = {
      {msg::TrialState::Done, tuning::End::kDone},
      {msg::TrialState::Stopped, tuning::End::kStopped},
      {msg::TrialState::Failed, tuning::End::kFailed},
      {msg::TrialState::Paused, tuning::End::kPaused}};
  for (const auto& [state, end] : ends) {
    const auto event = EventOfTrial(In(Stage::kRunning), 3, Shown(state, "why"));
    ASSERT_TRUE(event.has_value());
    EXPECT_EQ(event->kind, Kind::kEnded);
    EXPECT_EQ(event->trial, 3u);
    EXPECT_EQ(event->end, end);
    EXPECT_EQ(event->text, "why");
  }
}

TEST(EventOfTrialTest, AFailureHasTheLastLineOfItsError) {
  msg::TrialT failed = Shown(msg::TrialState::Failed, "exit code 1");
  failed.error_lines = {"Traceback", "ValueError: bad"};
  EXPECT_EQ(EventOfTrial(In(Stage::kRunning), 0, failed)->text, "exit code 1: ValueError: bad");
}

TEST(EventOfTrialTest, ARemovedTrialHasFailedAndAnUnreadableOneIsLookedAtLater) {
  const auto event = EventOfTrial(In(Stage::kRunning), 0, absl::NotFoundError("no trial"));
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->end, tuning::End::kFailed);
  EXPECT_EQ(event->text, "its trial was removed");
  EXPECT_FALSE(EventOfTrial(In(Stage::kDone), 0, absl::NotFoundError("no trial")).has_value());
  EXPECT_FALSE(EventOfTrial(In(Stage::kRunning), 0, absl::UnavailableError("disk")).has_value());
}

TEST(EventOfTrialTest, ATrialThatIsToBeStartedTellsNothing) {
  const Engine::Trial ordered = In(Stage::kRunning, false);
  EXPECT_FALSE(EventOfTrial(ordered, 0, Shown(msg::TrialState::Paused)).has_value());
  EXPECT_FALSE(EventOfTrial(ordered, 0, absl::NotFoundError("no trial")).has_value());
}

TEST(EventOfTrialTest, ATrialThatSomebodyHasResumedHasStarted) {
  const auto event = EventOfTrial(In(Stage::kPaused), 0, Shown(msg::TrialState::Running));
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->kind, Kind::kStarted);
  EXPECT_EQ(event->number, 2u);
  EXPECT_FALSE(EventOfTrial(In(Stage::kRunning), 0, Shown(msg::TrialState::Running)).has_value());
  EXPECT_FALSE(EventOfTrial(In(Stage::kWaiting), 0, Shown(msg::TrialState::Running)).has_value());
}

class EventOfOrderTest : public testing::Test {
 protected:
  absl::StatusOr<EngineEvent> Order(msg::SweepOrder order, const std::string& text = "") {
    msg::ChangeSweepRequestT request;
    request.order = order;
    if (order == msg::SweepOrder::Change) request.plan = text;
    if (order == msg::SweepOrder::Enqueue) request.config = text;
    return EventOfOrder("s-1", engine_, request, plan_);
  }

  Engine engine_ = Begun();
  std::string plan_;
};

TEST_F(EventOfOrderTest, IsTheEventOfThatOrder) {
  EXPECT_EQ(Order(msg::SweepOrder::Stop)->kind, Kind::kStop);
  EXPECT_EQ(Order(msg::SweepOrder::Pause)->kind, Kind::kPause);
  EXPECT_EQ(Order(msg::SweepOrder::Resume)->kind, Kind::kResume);
  EXPECT_EQ(Order(msg::SweepOrder::Enqueue, R"({"x":0.5})")->text, R"({"x":0.5})");
  EXPECT_TRUE(absl::IsInvalidArgument(Order(msg::SweepOrder::Remove).status()));
  EXPECT_EQ(plan_, "");
}

TEST_F(EventOfOrderTest, AChangedPlanKeepsHowManyTrialsRunAtOnce) {
  const auto event = Order(
      msg::SweepOrder::Change,
      R"({"method":"random","metric":{"name":"loss"},"parameters":{"x":{"min":0.0,"max":1.0}}})");
  ASSERT_TRUE(event.ok()) << event.status();
  EXPECT_EQ(event->kind, Kind::kChange);
  EXPECT_EQ(event->plan->parallel, 2u);
  EXPECT_THAT(plan_, HasSubstr("parallel"));
  EXPECT_TRUE(absl::IsInvalidArgument(Order(msg::SweepOrder::Change, "[]").status()));
}

TEST_F(EventOfOrderTest, AConfigurationThatCannotBeReadIsRefused) {
  EXPECT_TRUE(absl::IsInvalidArgument(Order(msg::SweepOrder::Enqueue, "{").status()));
}

TEST_F(EventOfOrderTest, AnEndedSweepCanOnlyGoOn) {
  engine_.Apply({.kind = Kind::kFail, .text = "broken"});
  ASSERT_TRUE(HasEnded(engine_));
  const auto paused = Order(msg::SweepOrder::Pause);
  EXPECT_TRUE(absl::IsFailedPrecondition(paused.status()));
  EXPECT_THAT(paused.status().message(), HasSubstr("cannot pause sweep s-1: it has ended"));
  EXPECT_TRUE(absl::IsFailedPrecondition(Order(msg::SweepOrder::Enqueue, "{}").status()));
  EXPECT_TRUE(Order(msg::SweepOrder::Resume).ok());
}

}  // namespace
}  // namespace trainer
