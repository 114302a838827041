#include "trainer/alert/trial_rules.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bus/alert/alert_rows.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/report/metric_rule.h"
#include "trainer/report/result_row.h"
#include "trainer/store/trial_record.h"
#include "trainer/store/trial_store.h"

namespace trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A store that accepts everything, and a clock that the test advances.
class TrialRulesTest : public ::testing::Test {
 protected:
  static TrialRecord Record(std::int64_t number = 1) {
    TrialRecord trial;
    trial.number = number;
    trial.run.trial_id = absl::StrCat("t-", number);
    trial.spec.name = absl::StrCat("trial", number);
    trial.state = msg::TrialState::Running;
    trial.job = "j-abcde";
    return trial;
  }
  ResultRow Row(const std::string& metrics, int attempt = 1) {
    ResultRow row;
    row.row = ++rows_;
    row.step = row.row;
    row.attempt = attempt;
    row.metrics = metrics;
    row.monotonic_us = absl::ToInt64Microseconds(now_);
    return row;
  }
  // Stores the batch and returns the causes of its alerts.
  std::vector<std::string> Store(const StoreBatch& batch) {
    alerts_ = rules_.AlertsOf(batch, 5);
    rules_.Stored(batch, now_);
    std::vector<std::string> causes;
    for (const bus::NewAlert& alert : alerts_) causes.push_back(alert.cause);
    return causes;
  }
  std::vector<std::string> Report(const std::string& metrics, std::int64_t trial = 1) {
    StoreBatch batch;
    batch.rows.push_back({trial, Row(metrics)});
    return Store(batch);
  }
  std::vector<std::string> Change(const TrialRecord& trial) {
    StoreBatch batch;
    batch.trials.push_back(trial);
    return Store(batch);
  }
  std::vector<std::string> End(TrialRecord trial, msg::TrialState state,
                               const std::string& reason = "") {
    trial.state = state;
    trial.reason = reason;
    return Change(trial);
  }
  std::vector<std::string> Stalled() {
    std::vector<std::string> causes;
    for (const auto& stalled : rules_.TakeStalled(now_)) causes.push_back(stalled.alert.cause);
    return causes;
  }

  TrialRules rules_{TrialRules::Settings{.stall_steps = 10, .stall_floor = absl::Seconds(60)}};
  absl::Duration now_ = absl::Seconds(1000);
  std::vector<bus::NewAlert> alerts_;
  std::int64_t rows_ = 0;
};

TEST_F(TrialRulesTest, AnEndIsAnAlert) {
  TrialRecord trial = Record();
  trial.spec.options.on_end = "echo";
  trial.error_lines = {"Traceback", "ValueError"};
  rules_.Know(trial);
  EXPECT_THAT(End(trial, msg::TrialState::Failed, "exit code 3"), ElementsAre("t-1/ended/1"));
  const msg::AlertT& alert = alerts_[0].alert;
  EXPECT_EQ(alert.kind, "trial_failed");
  EXPECT_EQ(alert.name, "trial1");
  EXPECT_EQ(alert.trial, "t-1");
  EXPECT_EQ(alert.time_us, 5);
  EXPECT_EQ(alert.reason, "failed: exit code 3");
  EXPECT_THAT(alert.lines, ElementsAre("Traceback", "ValueError"));
  EXPECT_THAT(alert.next, ElementsAre("yard show t-1", "yard logs t-1", "yard resume t-1"));
  EXPECT_EQ(alerts_[0].command, "echo");
  // It is stored once more, as by a repair or a late change.
  EXPECT_THAT(End(trial, msg::TrialState::Failed), IsEmpty());
}

TEST_F(TrialRulesTest, GoodEndsAreOfAnotherKind) {
  for (const auto& [state, reason] :
       {std::pair(msg::TrialState::Done, "done: its time budget"),
        std::pair(msg::TrialState::Stopped, "stopped: its time budget")}) {
    rules_.Know(Record());
    End(Record(), state, "its time budget");
    ASSERT_THAT(alerts_, SizeIs(1));
    EXPECT_EQ(alerts_[0].alert.kind, "trial_ended");
    EXPECT_EQ(alerts_[0].alert.reason, reason);
  }
}

TEST_F(TrialRulesTest, ATrialThatIsResumedEndsAgain) {
  TrialRecord trial = Record();
  rules_.Know(trial);
  EXPECT_THAT(End(trial, msg::TrialState::Failed), ElementsAre("t-1/ended/1"));
  trial.attempt = 2;
  trial.state = msg::TrialState::Pending;
  EXPECT_THAT(Change(trial), IsEmpty());
  EXPECT_THAT(End(trial, msg::TrialState::Done), ElementsAre("t-1/ended/2"));
}

TEST_F(TrialRulesTest, AFailedAttemptThatIsTriedAgainIsNoAlert) {
  TrialRecord trial = Record();
  rules_.Know(trial);
  trial.attempt = 2;
  trial.state = msg::TrialState::Pending;
  trial.reason = "attempt 1 failed";
  EXPECT_THAT(Change(trial), IsEmpty());
}

TEST_F(TrialRulesTest, EachMetricIsNotFiniteOnce) {
  rules_.Know(Record());
  EXPECT_THAT(Report(R"({"loss":1.5,"text":"NaN"})"), IsEmpty());
  EXPECT_THAT(Report(R"({"loss":NaN,"eval":{"loss":-Infinity}})"),
              ElementsAre("t-1/metric_not_finite/loss", "t-1/metric_not_finite/eval/loss"));
  EXPECT_EQ(alerts_[0].alert.reason, "loss is NaN at step 2");
  EXPECT_EQ(alerts_[1].alert.reason, "eval/loss is -Infinity at step 2");
  EXPECT_EQ(alerts_[1].alert.value, "-Infinity");
  EXPECT_THAT(Report(R"({"loss":NaN,"acc":Infinity})"), ElementsAre("t-1/metric_not_finite/acc"));
  EXPECT_THAT(Report(R"({"loss":NaN})", /*trial=*/9), IsEmpty()) << "nobody knows that trial";
}

TEST_F(TrialRulesTest, NamesWithoutEndDoNotRaiseAlertsWithoutEnd) {
  rules_.Know(Record());
  std::size_t count = 0;
  for (int i = 0; i < 100; ++i) {
    count += Report(absl::StrCat(R"({"m)", i, R"(":NaN})")).size();
    if (count == TrialRules::kMostNotFinite && !alerts_.empty()) {
      EXPECT_THAT(alerts_[0].alert.reason, HasSubstr("no alert"));
    }
  }
  EXPECT_EQ(count, TrialRules::kMostNotFinite);
}

TEST_F(TrialRulesTest, EachRuleIsMetOnce) {
  rules_ = TrialRules(TrialRules::Settings{.rules = {*MetricRule::Parse("acc<0.1")}});
  TrialRecord trial = Record();
  trial.spec.options.alerts = {"loss>10", "loss>100"};
  rules_.Know(trial);
  rules_.Know(Record(2));
  EXPECT_THAT(Report(R"({"loss":10,"acc":0.5})"), IsEmpty());
  EXPECT_THAT(Report(R"({"loss":11.25})"), ElementsAre("t-1/metric_threshold/loss>10"));
  EXPECT_EQ(alerts_[0].alert.reason, "loss is 11.25 at step 2, and the rule is loss>10");
  EXPECT_THAT(Report(R"({"loss":200,"acc":0})"),
              ElementsAre("t-1/metric_threshold/loss>100", "t-1/metric_threshold/acc<0.1"));
  EXPECT_THAT(Report(R"({"loss":200,"acc":0})"), IsEmpty());
  EXPECT_THAT(Report(R"({"loss":200,"acc":0})", 2), ElementsAre("t-2/metric_threshold/acc<0.1"));
}

TEST_F(TrialRulesTest, ABatchThatIsNotStoredChangesNothing) {
  rules_.Know(Record());
  StoreBatch batch;
  batch.rows.push_back({1, Row(R"({"loss":NaN})")});
  batch.rows.push_back({1, Row(R"({"loss":NaN})")});
  EXPECT_THAT(rules_.AlertsOf(batch, 5), SizeIs(1));
  EXPECT_THAT(rules_.AlertsOf(batch, 5), SizeIs(1));
}

TEST_F(TrialRulesTest, StallsAfterTenTimesTheMedianOfItsSteps) {
  rules_.Know(Record());
  Report("{}");
  // The first step takes an hour to compile.
  now_ += absl::Hours(1);
  Report("{}");
  for (int i = 0; i < 4; ++i) {
    now_ += absl::Seconds(20);
    Report("{}");
  }
  EXPECT_EQ(rules_.NextStall(), now_ + absl::Seconds(200));
  now_ += absl::Seconds(199);
  EXPECT_THAT(Stalled(), IsEmpty());
  now_ += absl::Seconds(1);
  auto stalled = rules_.TakeStalled(now_);
  ASSERT_THAT(stalled, SizeIs(1));
  EXPECT_EQ(stalled[0].alert.cause, "t-1/stalled/6");
  EXPECT_EQ(stalled[0].job, "j-abcde");
  EXPECT_EQ(stalled[0].alert.alert.reason,
            "no report for 3m20s after report 6; the median of its steps is 20s");
  EXPECT_TRUE(rules_.IsStalled(stalled[0]));
  EXPECT_EQ(rules_.NextStall(), absl::InfiniteDuration());
  now_ += absl::Hours(1);
  EXPECT_THAT(Stalled(), IsEmpty()) << "once";
  Report("{}");
  EXPECT_FALSE(rules_.IsStalled(stalled[0]));
  now_ += absl::Hours(2);
  EXPECT_THAT(Stalled(), ElementsAre("t-1/stalled/7"));
}

TEST_F(TrialRulesTest, ShortStepsHaveTheFloor) {
  rules_.Know(Record());
  for (int i = 0; i < 5; ++i) {
    now_ += absl::Milliseconds(10);
    Report("{}");
  }
  now_ += absl::Seconds(59);
  EXPECT_THAT(Stalled(), IsEmpty());
  now_ += absl::Seconds(1);
  EXPECT_THAT(Stalled(), SizeIs(1));
}

TEST_F(TrialRulesTest, DoesNotStallWithoutAMedianOrWhileItDoesNotRun) {
  TrialRecord trial = Record();
  rules_.Know(trial);
  for (int i = 0; i < 3; ++i) Report("{}");
  now_ += absl::Hours(9);
  EXPECT_THAT(Stalled(), IsEmpty()) << "two steps";
  Report("{}");
  trial.state = msg::TrialState::Paused;
  Change(trial);
  now_ += absl::Hours(99);
  EXPECT_THAT(Stalled(), IsEmpty());
  // The next attempt takes long to load its data.
  trial.state = msg::TrialState::Running;
  trial.attempt = 2;
  Change(trial);
  now_ += absl::Hours(99);
  EXPECT_THAT(Stalled(), IsEmpty());
}

TEST_F(TrialRulesTest, ATrialSaysItsOwnNumberOfSteps) {
  TrialRecord never = Record(1), soon = Record(2);
  never.spec.options.stall_steps = -1;
  soon.spec.options.stall_steps = 2;
  rules_.Know(never);
  rules_.Know(soon);
  for (int i = 0; i < 5; ++i) {
    now_ += absl::Minutes(1);
    Report("{}", 1);
    Report("{}", 2);
  }
  now_ += absl::Minutes(2);
  EXPECT_THAT(Stalled(), ElementsAre(HasSubstr("t-2/stalled/")));
  now_ += absl::Hours(99);
  EXPECT_THAT(Stalled(), IsEmpty());
}

TEST_F(TrialRulesTest, RemembersTheStepsOfAnEarlierTrainer) {
  rules_.Know(Record());
  std::vector<ResultRow> rows;
  for (int i = 0; i < 6; ++i) {
    now_ += absl::Seconds(10);
    rows.push_back(Row("{}"));
  }
  now_ += absl::Hours(1);  // The trainer was not running.
  rules_.Remember(1, rows, now_);
  now_ += absl::Seconds(99);
  EXPECT_THAT(Stalled(), IsEmpty());
  now_ += absl::Seconds(1);
  EXPECT_THAT(Stalled(), ElementsAre("t-1/stalled/6"));
}

}  // namespace
}  // namespace trainer
