#include "trainer/trial/trial_message.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/checkpoint/checkpoint_row.h"
#include "trainer/report/metric_statistics.h"
#include "trainer/report/result_row.h"
#include "trainer/store/trial_record.h"

namespace trainer {
namespace {

using ::testing::ElementsAre;

TrialRecord Record() {
  TrialRecord record;
  record.run = {"t-1", "experiment", "host", 5, "events"};
  record.spec.name = "first";
  record.spec.argv = {"prog"};
  record.spec.environment = {"SECRET=1"};
  record.spec.run_directory = "/runs/first";
  record.spec.config = R"({"lr":0.5})";
  record.spec.options.labels = {"base"};
  record.state = msg::TrialState::Running;
  record.reason = "it goes well";
  record.earlier_metrics = R"({"acc":1})";
  return record;
}

ResultRow LastRow() {
  ResultRow row;
  row.row = 3;
  row.training_iteration = 4;
  row.metrics = R"({"loss":2})";
  return row;
}

CheckpointRow Newest() {
  CheckpointRow checkpoint;
  checkpoint.number = 1;
  checkpoint.name = "checkpoint_000001";
  checkpoint.iteration = 4;
  checkpoint.bytes = 10;
  checkpoint.score = 0.5;
  return checkpoint;
}

TEST(TrialMessageTest, ABriefMessageHasNothingThatMayBeLarge) {
  const msg::TrialT brief = BriefMessage(Record(), LastRow(), Newest());
  EXPECT_EQ(brief.id, "t-1");
  EXPECT_EQ(brief.name, "first");
  EXPECT_EQ(brief.state, msg::TrialState::Running);
  EXPECT_EQ(brief.reports, 3u);
  EXPECT_EQ(brief.training_iteration, 4);
  EXPECT_EQ(brief.reason, "it goes well");
  EXPECT_EQ(brief.checkpoint, "/runs/first/checkpoint_000001");
  EXPECT_TRUE(brief.argv.empty());
  EXPECT_TRUE(brief.last_metrics.empty());
  EXPECT_TRUE(brief.labels.empty());
}

TEST(TrialMessageTest, AWholeMessageHasTheNewestValueOfEachMetric) {
  const msg::TrialT whole = WholeMessage(Record(), LastRow(), {});
  EXPECT_THAT(whole.argv, ElementsAre("prog"));
  EXPECT_THAT(whole.labels, ElementsAre("base"));
  EXPECT_EQ(whole.checkpoint, "");
  EXPECT_THAT(whole.last_metrics,
              testing::AllOf(testing::HasSubstr("\"loss\":2"), testing::HasSubstr("\"acc\":1")));
}

TEST(TrialMessageTest, OnlyATrialThatHasEndedHasAnOutcome) {
  TrialRecord record = Record();
  EXPECT_FALSE(OutcomeOf(record).has_value());
  record.state = msg::TrialState::Paused;
  EXPECT_FALSE(OutcomeOf(record).has_value());
  record.state = msg::TrialState::Failed;
  record.ended_us = 7;
  const auto outcome = OutcomeOf(record);
  ASSERT_TRUE(outcome.has_value());
  EXPECT_EQ(outcome->reason, "it goes well");
  EXPECT_EQ(outcome->ended_us, 7);
}

TEST(TrialMessageTest, DetailsHaveTheCheckpointsAndStatistics) {
  MetricStatistics statistics;
  statistics.Add(LastRow());
  const CheckpointRow checkpoints[] = {Newest()};
  const auto details =
      DetailsMessage(Record(), BriefMessage(Record(), {}, {}), statistics, checkpoints, 2);
  EXPECT_EQ(details.trial->id, "t-1");
  EXPECT_EQ(details.config, R"({"lr":0.5})");
  ASSERT_EQ(details.checkpoints.size(), 1u);
  EXPECT_EQ(details.checkpoints[0]->directory, "/runs/first/checkpoint_000001");
  EXPECT_TRUE(details.checkpoints[0]->has_score);
  EXPECT_FALSE(details.statistics.empty());
  EXPECT_EQ(details.events_waiting, 2u);
}

}  // namespace
}  // namespace trainer
