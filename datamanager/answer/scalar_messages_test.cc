#include "datamanager/answer/scalar_messages.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "bus/schema/datamanager_generated.h"
#include "bus/wire/packed_numbers.h"
#include "datamanager/series/columns.h"
#include "datamanager/series/overlap_policy.h"
#include "datamanager/series/scalar_columns.h"

namespace datamanager {
namespace {

using Steps = std::vector<std::int64_t>;

Point PointAt(std::int64_t step) {
  return {.step = step,
          .wall_time = 100.0 + static_cast<double>(step),
          .value = -1.0 * static_cast<double>(step)};
}
ScalarColumns Series(const Steps& steps) {
  ScalarColumns series;
  for (const std::int64_t step : steps) series.Append(PointAt(step));
  return series;
}
Steps UpTo(std::int64_t end) {
  Steps steps;
  for (std::int64_t step = 0; step < end; ++step) steps.push_back(step);
  return steps;
}

// Returns the steps of all pages; each page states where it begins.
Steps AllPages(const ScalarColumns& series, const PointPages::Options& options) {
  PointPages pages(options);
  Steps steps;
  for (;;) {
    msg::ScalarsReplyT page;
    const auto more = pages.Next(series, 1, &page);
    EXPECT_TRUE(more.ok()) << more.status();
    if (!more.ok()) return steps;
    EXPECT_EQ(page.first_point, options.first_point + steps.size());
    EXPECT_EQ(page.more, *more);
    EXPECT_LE(page.steps.size(), options.page_points);
    EXPECT_EQ(page.values.size(), page.steps.size());
    EXPECT_EQ(page.wall_times.size(), page.steps.size());
    for (std::size_t i = 0; i < page.steps.size(); ++i) {
      EXPECT_EQ(page.values[i], PointAt(page.steps[i]).value);
      EXPECT_EQ(page.wall_times[i], PointAt(page.steps[i]).wall_time);
    }
    steps.insert(steps.end(), page.steps.begin(), page.steps.end());
    if (!*more) return steps;
  }
}

TEST(ScalarMessagesTest, PagesTogetherAreWhatWasAskedForOnce) {
  const ScalarColumns series = Series(UpTo(1000));
  const Steps all = UpTo(1000);
  struct Row {
    PointPages::Options options;
    std::int64_t first, end;  // The expected range of steps.
  };
  const Row rows[] = {
      {{}, 0, 1000},
      {{.page_points = 7}, 0, 1000},
      {{.page_points = 1000}, 0, 1000},
      {{.first_step = 10, .last_step = 19, .page_points = 5}, 10, 20},
      {{.first_point = 990}, 990, 1000},
      {{.first_point = 5000}, 0, 0},
      {{.first_step = 100, .first_point = 50, .limit = 20, .page_points = 6}, 150, 170},
      {{.limit = 0}, 0, 0},
      {{.first_step = 2000}, 0, 0},
      {{.first_step = 5, .last_step = 4}, 0, 0},
  };
  for (const Row& row : rows) {
    const Steps expected(all.begin() + row.first, all.begin() + row.end);
    EXPECT_EQ(AllPages(series, row.options), expected);
    PointPages::Options by_file = row.options;
    by_file.by_file_order = true;
    EXPECT_EQ(AllPages(series, by_file), expected);
  }
  EXPECT_TRUE(AllPages(Series({}), {}).empty());
}

TEST(ScalarMessagesTest, InTheOrderOfFilesStepsStandAsTheyCame) {
  const ScalarColumns series = Series({5, 6, 7, 3, 4, 5, 100});
  EXPECT_EQ(AllPages(series, {.by_file_order = true, .page_points = 2}),
            (Steps{5, 6, 7, 3, 4, 5, 100}));
  EXPECT_EQ(AllPages(series, {.first_step = 4, .last_step = 6, .by_file_order = true}),
            (Steps{5, 6, 4, 5}));
}

TEST(ScalarMessagesTest, FewPointsOfALongSeriesAreFoundPageByPage) {
  Steps steps(PointPages::kSearchedPoints + 10, 0);
  steps.back() = 9;
  const ScalarColumns series = Series(steps);
  PointPages pages({.first_step = 9, .by_file_order = true});
  msg::ScalarsReplyT page;
  EXPECT_TRUE(*pages.Next(series, 1, &page));
  EXPECT_TRUE(page.steps.empty());
  EXPECT_FALSE(*pages.Next(series, 1, &page));
  EXPECT_EQ(page.steps, (Steps{9}));
}

TEST(ScalarMessagesTest, ASeriesMayGrowBetweenPages) {
  for (const bool by_file_order : {true, false}) {
    ScalarColumns series = Series({1, 2, 3});
    PointPages pages({.by_file_order = by_file_order, .page_points = 2});
    msg::ScalarsReplyT first, second;
    EXPECT_TRUE(*pages.Next(series, 1, &first));
    series.Append(PointAt(4));
    EXPECT_FALSE(*pages.Next(series, 1, &second));
    EXPECT_EQ(second.steps, (Steps{3, 4}));
  }
}

TEST(ScalarMessagesTest, PagesThatDoNotFitTogetherAreNotGiven) {
  struct Row {
    Steps later;
    std::uint64_t generation;
  };
  const Row rows[] = {
      {{1, 2, 3}, 2},     // The run was read again.
      {{0, 1, 2, 3}, 1},  // An earlier step was added.
      {{1}, 1},           // Points were removed.
  };
  for (const Row& row : rows) {
    PointPages pages({.page_points = 2});
    msg::ScalarsReplyT first, second;
    EXPECT_TRUE(*pages.Next(Series({1, 2, 3}), 1, &first));
    EXPECT_EQ(pages.Next(Series(row.later), row.generation, &second).status().code(),
              absl::StatusCode::kAborted);
    EXPECT_TRUE(second.steps.empty());
  }
}

TEST(ScalarMessagesTest, APageMayEndWithANumberThatIsNone) {
  ScalarColumns series;
  series.Append({.step = 1, .wall_time = NAN, .value = NAN});
  series.Append(PointAt(2));
  PointPages pages({.page_points = 1});
  msg::ScalarsReplyT first, second;
  EXPECT_TRUE(*pages.Next(series, 1, &first));
  EXPECT_FALSE(*pages.Next(series, 1, &second));
  EXPECT_EQ(second.steps, (Steps{2}));
}

TEST(ScalarMessagesTest, ColumnsHaveEverySpike) {
  ScalarColumns series = Series(UpTo(500));
  series.Append({.step = 500, .wall_time = 1, .value = 1e9});
  for (std::int64_t step = 501; step < 1000; ++step) series.Append(PointAt(step));
  msg::ScalarsReplyT reply;
  AppendColumns(series, 0, 2000, 10, &reply);
  ASSERT_EQ(reply.steps.size(), 10u);
  for (const std::size_t size :
       {reply.last_steps.size(), reply.wall_times.size(), reply.values.size(), reply.firsts.size(),
        reply.mins.size(), reply.maxs.size(), reply.counts.size()}) {
    EXPECT_EQ(size, 10u);
  }
  EXPECT_EQ(reply.maxs[5], 1e9);
  EXPECT_TRUE(reply.not_finite.empty());
  EXPECT_EQ(reply.steps[0], 0);
  EXPECT_EQ(reply.last_steps[9], 999);
  msg::ScalarsReplyT widest;
  AppendColumns(Series(UpTo(20'000)), 0, 20'000, std::numeric_limits<std::size_t>::max(), &widest);
  EXPECT_LE(widest.steps.size(), kMaxColumns);
}

TEST(ScalarMessagesTest, ColumnsSayHowManyPointsAreNotFinite) {
  ScalarColumns series;
  for (std::int64_t step = 0; step < 1000; ++step) {
    series.Append(step % 100 < 3 ? Point{step, 1, step % 2 == 0 ? NAN : -INFINITY} : PointAt(step));
  }
  msg::ScalarsReplyT reply;
  AppendColumns(series, 0, 2000, 2, &reply);
  ASSERT_EQ(reply.not_finite.size(), reply.steps.size());
  EXPECT_EQ(std::accumulate(reply.not_finite.begin(), reply.not_finite.end(), 0u), 30u);
}

TEST(ScalarMessagesTest, PackedColumnsAreTheColumns) {
  ScalarColumns series;
  for (std::int64_t step = 0; step < 1000; ++step) {
    const double value = step == 500     ? 1e300
                         : step % 7 == 0 ? NAN
                                         : 0.1 * static_cast<double>(step);
    series.Append(
        {.step = step - 100, .wall_time = 1e9 + static_cast<double>(step), .value = value});
  }
  msg::ScalarsReplyT wide;
  AppendColumns(series, -50, 2000, 10, &wide);
  const auto packed = PackColumns(series, -50, 2000, 10);
  EXPECT_EQ(packed->columns, wide.steps.size());
  EXPECT_EQ(bus::UnpackSteps(*packed->first_steps), wide.steps);
  EXPECT_EQ(bus::UnpackSteps(*packed->last_steps), wide.last_steps);
  EXPECT_EQ(packed->wall_times->data, bus::PackNumbers(wide.wall_times)->data);
  EXPECT_EQ(packed->mins->data, bus::PackNumbers(wide.mins)->data);
  EXPECT_EQ(packed->maxs->data, bus::PackNumbers(wide.maxs)->data);
  EXPECT_EQ(packed->lasts->data, bus::PackNumbers(wide.values)->data);
  EXPECT_EQ(packed->not_finite->data, bus::PackCounts(wide.not_finite)->data);
}

TEST(ScalarMessagesTest, PackedListsThatTellNothingAreMissing) {
  ScalarColumns series;
  for (std::int64_t step = 0; step < 5; ++step) series.Append(PointAt(step));
  const auto each = PackColumns(series, 0, 4, 10);  // One column for each point.
  EXPECT_EQ(each->columns, 5u);
  EXPECT_EQ(each->last_steps, nullptr);
  EXPECT_EQ(each->mins, nullptr);
  EXPECT_EQ(each->maxs, nullptr);
  EXPECT_EQ(each->not_finite, nullptr);
  const auto none = PackColumns(series, 10, 20, 10);
  EXPECT_EQ(none->columns, 0u);
  EXPECT_TRUE(none->first_steps->data.empty());
}

TEST(ScalarMessagesTest, EveryPolicyOfTheSchemaIsKnown) {
  for (const msg::Overlap overlap : msg::EnumValuesOverlap()) {
    const std::optional<Overlap> policy = OverlapOf(overlap);
    ASSERT_TRUE(policy.has_value());
    EXPECT_EQ(static_cast<int>(*policy), static_cast<int>(overlap));
  }
  EXPECT_FALSE(OverlapOf(static_cast<msg::Overlap>(200)).has_value());
}

}  // namespace
}  // namespace datamanager
