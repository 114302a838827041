#include "datamanager/series/value_series.h"

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <vector>

#include "datamanager/series/overlap_policy.h"

namespace datamanager {
namespace {

constexpr std::int64_t kLow = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kHigh = std::numeric_limits<std::int64_t>::max();

ValuePlace At(std::int64_t step, std::uint64_t offset) {
  return {.step = step, .wall_time = 1.5, .offset = offset, .length = 7, .crc = 9, .file = 2};
}

ValueSeries Resumed() {
  ValueSeries series;
  std::uint64_t offset = 0;
  for (const std::int64_t step : {0, 1, 2, 3, 2, 3, 4}) series.Append(At(step, offset++));
  return series;
}

std::vector<std::uint64_t> Offsets(const std::vector<ValuePlace>& values) {
  std::vector<std::uint64_t> offsets;
  for (const ValuePlace& value : values) offsets.push_back(value.offset);
  return offsets;
}

TEST(ValueSeriesTest, EveryPlaceComesBackAsItWas) {
  const ValueSeries series = Resumed();
  EXPECT_EQ(series.size(), 7u);
  EXPECT_EQ(series.all()[4], At(2, 4));
}

TEST(ValueSeriesTest, ARangeOfStepsInTheirOrder) {
  const ValueSeries series = Resumed();
  EXPECT_EQ(Offsets(series.Select({}, Overlap::kRaw, kLow, kHigh)),
            (std::vector<std::uint64_t>{0, 1, 2, 4, 3, 5, 6}));
  EXPECT_EQ(Offsets(series.Select({}, Overlap::kRaw, 1, 2)), (std::vector<std::uint64_t>{1, 2, 4}));
  EXPECT_TRUE(series.Select({}, Overlap::kRaw, 2, 1).empty());
  EXPECT_TRUE(ValueSeries().Select({}, Overlap::kRaw, kLow, kHigh).empty());
}

TEST(ValueSeriesTest, APolicyLeavesOut) {
  const ValueSeries series = Resumed();
  EXPECT_EQ(Offsets(series.Select({}, Overlap::kLastWrite, kLow, kHigh)),
            (std::vector<std::uint64_t>{0, 1, 4, 5, 6}));
  SeriesMarks marks;
  marks.rare = std::make_unique<SeriesMarks::Rare>();
  marks.rare->purges.push_back({.before = 4, .from_step = 1, .restart = true, .by_version = true});
  EXPECT_EQ(Offsets(series.Select(marks, Overlap::kTensorBoard, kLow, kHigh)),
            (std::vector<std::uint64_t>{0, 4, 5, 6}));
}

TEST(ValueSeriesTest, AValueTakesFortyBytes) {
  ValueSeries series;
  EXPECT_EQ(series.Bytes(), 0u);
  for (int i = 0; i < 1024; ++i) series.Append(At(i, 0));
  EXPECT_EQ(series.Bytes(), 1024u * 40);
}

}  // namespace
}  // namespace datamanager
