#include "datamanager/series/step_view.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "datamanager/series/columns.h"
#include "datamanager/series/overlap_policy.h"
#include "datamanager/series/scalar_columns.h"
#include "datamanager/series/scalar_summary.h"

namespace datamanager {
namespace {

constexpr Overlap kAll[] = {Overlap::kRaw,           Overlap::kLastWrite,     Overlap::kTensorBoard,
                            Overlap::kTensorBoardV1, Overlap::kTensorBoardV2, Overlap::kRustServer,
                            Overlap::kMindInsight};

// A run with one tag.
class Series {
 public:
  void Add(std::int64_t step, std::uint32_t age = 0, double time = 0) {
    log_.Summary(step);
    log_.Note(summary_, step, age, &marks_);
    // All values differ, so that points of the same step can be distinguished.
    const Point point{step, time, static_cast<double>(points_.size())};
    summary_.Add(point);
    points_.push_back(point);
    columns_.Append(point);
  }
  void Restart(std::int64_t step) { log_.SessionStart(step); }
  PurgeLog& log() { return log_; }
  const ScalarColumns& columns() const { return columns_; }

  std::vector<Point> Get(StepView& view, Overlap policy) {
    log_.CatchUp(summary_, &marks_);
    const ScalarColumns& kept = view.Get(columns_, marks_, policy);
    EXPECT_TRUE(kept.sorted());
    std::vector<Point> points;
    kept.Read(0, kept.size(), &points);
    return points;
  }
  std::vector<Point> Expected(Overlap policy) {
    log_.CatchUp(summary_, &marks_);
    std::vector<std::int64_t> steps;
    std::vector<double> times;
    for (const Point& point : points_) {
      steps.push_back(point.step);
      times.push_back(point.wall_time);
    }
    std::vector<Point> want;
    for (const std::uint64_t place :
         KeptPoints(steps, marks_.purges(), marks_.parts(), policy, times)) {
      want.push_back(points_[place]);
    }
    return want;
  }

 private:
  PurgeLog log_;
  ScalarSummary summary_;
  SeriesMarks marks_;
  std::vector<Point> points_;
  ScalarColumns columns_;
};

TEST(StepViewTest, ASeriesThatOnlyRisesIsNotCopied) {
  Series series;
  for (int i = 0; i < 1000; ++i) series.Add(i);
  for (const Overlap policy : kAll) {
    StepView view;
    EXPECT_EQ(&view.Get(series.columns(), SeriesMarks(), policy), &series.columns());
    EXPECT_EQ(view.Bytes(), 0u);
  }
}

TEST(StepViewTest, ARestartThatPurgesIsSeenWithoutANewPoint) {
  Series series;
  series.log().FileVersion(2);
  series.Restart(0);
  for (int i = 0; i < 1000; ++i) series.Add(i);
  StepView view;
  EXPECT_EQ(series.Get(view, Overlap::kTensorBoard).size(), 1000u);
  series.Restart(400);
  EXPECT_EQ(series.Get(view, Overlap::kTensorBoard).size(), 400u);
  EXPECT_EQ(series.Get(view, Overlap::kLastWrite).size(), 1000u);
  series.Restart(100);
  EXPECT_EQ(series.Get(view, Overlap::kTensorBoard).size(), 100u);
}

TEST(StepViewTest, WhatHasGrownIsMergedIn) {
  for (const Overlap policy : kAll) {
    SCOPED_TRACE(static_cast<int>(policy));
    std::mt19937 random(11);
    for (int round = 0; round < 200; ++round) {
      Series series;
      StepView view;
      std::int64_t step = 0;
      const unsigned back = round % 2 == 0 ? 4 : 400;
      for (int i = 0; i < 300; ++i) {
        if (random() % 40 == 0) step -= static_cast<std::int64_t>(random() % back);
        if (random() % 60 == 0) series.Restart(step - static_cast<std::int64_t>(random() % 20));
        if (random() % 60 == 0) series.log().FileVersion(1 + static_cast<int>(random() % 2));
        series.Add(step, i / 100, static_cast<double>(random() % 8));
        step += random() % 4 == 0 ? 0 : 1;
        if (random() % 20 == 0) {
          ASSERT_EQ(series.Get(view, policy), series.Expected(policy));
        }
      }
      ASSERT_EQ(series.Get(view, policy), series.Expected(policy));
      ASSERT_EQ(series.Get(view, policy), series.Expected(policy)) << "asked again";
    }
  }
}

TEST(StepViewTest, AnotherPolicyIsAnotherView) {
  Series series;
  for (int i = 0; i < 10; ++i) series.Add(i, 1);
  for (int i = 5; i < 13; ++i) series.Add(i, 2);
  StepView view;
  for (int twice = 0; twice < 2; ++twice) {
    for (const Overlap policy : kAll) {
      EXPECT_EQ(series.Get(view, policy), series.Expected(policy)) << static_cast<int>(policy);
    }
  }
}

TEST(StepViewTest, MemoryIsCountedAndGivenBack) {
  Series series;
  for (int i = 0; i < 1000; ++i) series.Add(1000 - i);
  StepView view;
  series.Get(view, Overlap::kRaw);
  EXPECT_GT(view.Bytes(), 1000u * 4);
  EXPECT_LT(view.Bytes(), 1000u * 14);
  view.Drop();
  EXPECT_EQ(view.Bytes(), 0u);
  EXPECT_EQ(series.Get(view, Overlap::kRaw), series.Expected(Overlap::kRaw));
}

}  // namespace
}  // namespace datamanager
