#include "trainer/function/training_progress.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace trainer {
namespace {

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
const absl::Time kNow = absl::FromUnixSeconds(1'700'000'000);

ResultSource Source() { return {"t-abcde", "e1", "host", 7}; }
Result Count(TrainingProgress& progress, NamedValues reported) {
  return progress.Count(std::move(reported), absl::Seconds(2), kNow);
}

TEST(TrainingProgressTest, FillsInWhatWasNotReported) {
  TrainingProgress progress(Source());
  Count(progress, {{"loss", 0.5}});
  const NamedValues all = Count(progress, {{"loss", 0.25}, {"hostname", "mine"}}).All();
  EXPECT_EQ(all.begin()->first, "loss");
  const struct {
    std::string name;
    Value value;
  } kExpected[] = {
      {"loss", 0.25},
      {"done", false},
      {"training_iteration", 2},
      {"time_this_iter_s", 2.0},
      {"time_total_s", 4.0},
      {"timesteps_total", Value()},
      {"episodes_total", Value()},
      {"iterations_since_restore", 2},
      {"timesteps_since_restore", 0},
      {"time_since_restore", 4.0},
      {"timestamp", 1'700'000'000},
      {"hostname", "mine"},
      {"pid", 7},
      {"trial_id", "t-abcde"},
      {"experiment_id", "e1"},
  };
  for (const auto& [name, value] : kExpected) {
    ASSERT_NE(all.Find(name), nullptr) << name;
    EXPECT_EQ(*all.Find(name), value) << name;
  }
  EXPECT_FALSE(all.Has("neg_mean_loss"));
  EXPECT_FALSE(all.Has("timesteps_this_iter"));
  EXPECT_EQ(all.Text("date").size(), std::string("2023-11-14_22-13-20").size());
}

// Ray's testReportTimeStep.
TEST(TrainingProgressTest, SumsStepsOnlyWhereTheyAreReported) {
  const struct {
    const char* name;
    Value each;      // Reported by each of ten results.
    Value previous;  // The total after nine.
    Value last;
  } kCases[] = {
      {"timesteps_this_iter", Value(), Value(), Value()},
      {"timesteps_this_iter", 0, 0, 0},
      {"timesteps_this_iter", 3, 27, 30},
      {"timesteps_this_iter", 3.0, 27, 30},
      {"timesteps_this_iter", 2.5, Value(), Value()},
      {"timesteps_this_iter", "3", Value(), Value()},
      {"timesteps_total", 5, 5, 5},
      {"timesteps_this_iter", kLargest, kLargest, kLargest},
  };
  for (const auto& [name, each, previous, last] : kCases) {
    TrainingProgress progress(Source());
    Value before;
    Result result;
    for (int i = 0; i < 10; ++i) {
      before = result.Get("timesteps_total");
      result = Count(progress, {{name, each}});
    }
    std::string shown = name;
    each.AppendJson(shown);
    EXPECT_EQ(before, previous) << shown;
    EXPECT_EQ(result.Get("timesteps_total"), last) << shown;
  }
}

TEST(TrainingProgressTest, SumsEpisodes) {
  TrainingProgress progress(Source());
  Result result;
  for (int i = 0; i < 10; ++i) result = Count(progress, {{"episodes_this_iter", i}});
  EXPECT_EQ(result.Get("episodes_total"), Value(45));
  EXPECT_TRUE(result.Get("timesteps_total").is_null());
}

TEST(TrainingProgressTest, BelievesAReportedTimeIfItIsOne) {
  const struct {
    Value said;
    absl::Duration counted;
  } kCases[] = {{0.5, absl::Milliseconds(500)},   {0, absl::ZeroDuration()},
                {-1, absl::Seconds(2)},           {1e300, absl::Seconds(2)},
                {std::nan(""), absl::Seconds(2)}, {"1", absl::Seconds(2)}};
  for (const auto& [said, counted] : kCases) {
    TrainingProgress progress(Source());
    const Result result = Count(progress, {{"time_this_iter_s", said}});
    std::string shown;
    said.AppendJson(shown);
    EXPECT_EQ(result.time_this_iter, counted) << shown;
    EXPECT_EQ(result.time_total, counted) << shown;
  }
}

TEST(TrainingProgressTest, AReportedIterationDoesNotMoveTheCounter) {
  TrainingProgress progress(Source());
  const Result result = Count(progress, {{"training_iteration", 100}});
  EXPECT_EQ(result.Get("training_iteration"), Value(100));
  EXPECT_EQ(Count(progress, {}).Get("training_iteration"), Value(2));
}

TEST(TrainingProgressTest, NegatesTheMeanLossAlsoOfZero) {
  TrainingProgress progress(Source());
  EXPECT_EQ(Count(progress, {{"mean_loss", 0.5}}).Get("neg_mean_loss"), Value(-0.5));
  EXPECT_EQ(Count(progress, {{"mean_loss", 0}}).Get("neg_mean_loss"), Value(-0.0));
  EXPECT_TRUE(Count(progress, {{"mean_loss", "low"}}).Get("neg_mean_loss").is_null());
}

TEST(TrainingProgressTest, ADuplicateMovesNothing) {
  TrainingProgress progress(Source());
  const Result last = Count(progress, {{"loss", 1}});
  const Result duplicate = progress.Duplicate(last, kNow + absl::Hours(1));
  EXPECT_TRUE(duplicate.duplicate);
  EXPECT_TRUE(duplicate.done);
  EXPECT_EQ(duplicate.Get("done"), Value(true));
  EXPECT_EQ(duplicate.Get("loss"), Value(1));
  EXPECT_EQ(duplicate.time, kNow);
  EXPECT_EQ(progress.training_iteration(), 1);
  const Result only = TrainingProgress(Source()).Duplicate(std::nullopt, kNow);
  EXPECT_TRUE(only.reported.empty());
  EXPECT_EQ(only.Get("trial_id"), Value("t-abcde"));
  EXPECT_EQ(only.time, kNow);
}

TEST(TrainingProgressTest, ADuplicateWithoutAResultHasTheCounters) {
  TrainingProgress before(Source());
  for (int i = 0; i < 3; ++i) {
    Count(before, {{"timesteps_this_iter", 10}, {"episodes_this_iter", 1}});
  }
  TrainingProgress after(Source());
  after.Restore(before.Metadata());
  const Result end = after.Duplicate(std::nullopt, kNow);
  EXPECT_EQ(end.training_iteration, 3);
  EXPECT_EQ(end.timesteps_total, 30);
  EXPECT_EQ(end.episodes_total, 3);
  EXPECT_EQ(end.time_total, absl::Seconds(6));
  EXPECT_EQ(end.iterations_since_restore, 0);
}

TEST(TrainingProgressTest, ADuplicateIsDoneWhateverWasReported) {
  TrainingProgress progress(Source());
  const Result last = Count(progress, {{"done", false}});
  EXPECT_FALSE(last.done);
  EXPECT_EQ(progress.Duplicate(last, kNow).Get("done"), Value(true));
  EXPECT_TRUE(Count(progress, {{"done", true}}).done);
}

// Ray's testRestoreMetricsAfterCheckpointing.
TEST(TrainingProgressTest, GoesOnFromACheckpoint) {
  TrainingProgress before(Source());
  for (int i = 0; i < 3; ++i) {
    Count(before, {{"timesteps_this_iter", 10}, {"episodes_this_iter", 1}});
  }
  TrainingProgress after({"t-other", "e2", "host2", 8});
  Count(after, {{"timesteps_this_iter", 1}});
  after.Restore(before.Metadata());
  Result result = Count(after, {{"timesteps_this_iter", 10}});
  EXPECT_EQ(result.training_iteration, 4);
  EXPECT_EQ(result.timesteps_total, 40);
  EXPECT_EQ(result.episodes_total, 3);
  EXPECT_EQ(result.time_total, absl::Seconds(8));
  EXPECT_EQ(result.timesteps_since_restore, 10);
  EXPECT_EQ(result.iterations_since_restore, 1);
  EXPECT_EQ(result.time_since_restore, absl::Seconds(2));
  EXPECT_EQ(result.source->experiment_id, "e1");
  EXPECT_EQ(result.source->trial_id, "t-other");
  result = Count(after, {{"timesteps_this_iter", 10}});
  EXPECT_EQ(result.timesteps_since_restore, 20);
  EXPECT_EQ(result.iterations_since_restore, 2);
}

}  // namespace
}  // namespace trainer
