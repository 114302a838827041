#include "datamanager/series/series_block.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace datamanager {
namespace {

constexpr std::int64_t kLow = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kHigh = std::numeric_limits<std::int64_t>::max();

std::string Encode(const std::vector<Point>& points) {
  std::uint8_t block[kMaxBlockBytes];
  const std::size_t length = EncodeBlock(points, block);
  return {reinterpret_cast<const char*>(block), length};
}

// Compares bit by bit, because NaN != NaN and -0 == 0.
void ExpectSame(const std::vector<Point>& points, std::span<const Point> decoded) {
  ASSERT_EQ(decoded.size(), points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    EXPECT_EQ(decoded[i].step, points[i].step) << i;
    EXPECT_EQ(std::bit_cast<std::uint64_t>(decoded[i].wall_time),
              std::bit_cast<std::uint64_t>(points[i].wall_time))
        << i;
    EXPECT_EQ(std::bit_cast<std::uint64_t>(decoded[i].value),
              std::bit_cast<std::uint64_t>(points[i].value))
        << i;
  }
}

std::vector<Point> Decode(std::string_view block) {
  // A buffer of exactly the block's size, so that a sanitizer detects an overrun.
  const auto exact = std::make_unique<char[]>(block.size());
  std::memcpy(exact.get(), block.data(), block.size());
  std::vector<Point> points(kBlockPoints);
  points.resize(DecodeBlock({exact.get(), block.size()},
                            std::span<Point, kBlockPoints>(points.data(), kBlockPoints)));
  return points;
}

std::vector<Point> Make(std::size_t count, const std::function<Point(int)>& point) {
  std::vector<Point> points;
  for (std::size_t i = 0; i < count; ++i) points.push_back(point(static_cast<int>(i)));
  return points;
}

double Clock(int i) { return 1700000000.0 + i * 0.1; }

struct Row {
  const char* name;
  std::function<Point(int)> point;
  std::size_t most_bytes;  // Upper bound for a full block.
};

std::vector<Row> Rows() {
  static std::mt19937_64 random(5);
  return {
      {"a clock, a stride, floats",
       [](int i) {
         return Point{i * 10, Clock(i), static_cast<float>(std::sin(i))};
       },
       6 + 16 + 16 + 126 + 512},
      {"all the same",
       [](int) {
         return Point{7, 1.5, -0.25};
       },
       6 + 16 + 16 + 8},
      {"doubles",
       [](int i) {
         return Point{i, Clock(i), std::sin(i)};
       },
       6 + 16 + 16 + 126 + 1024},
      {"steps with gaps",
       [](int i) {
         return Point{i + (i % 7 == 0 ? 3 : 0), 0, 0};
       },
       6 + 16 + 126 + 16 + 8},
      {"a clock with a jitter of milliseconds",
       [](int i) {
         return Point{i, Clock(i) + static_cast<double>(random() % 500) * 1e-6, 0};
       },
       6 + 16 + 16 + 126 * 2 + 8},
      {"any bits at all",
       [](int) {
         return Point{static_cast<std::int64_t>(random()), std::bit_cast<double>(random()),
                      std::bit_cast<double>(random())};
       },
       kMaxBlockBytes},
      {"ends of the range",
       [](int i) {
         return Point{i % 2 == 0 ? kLow : kHigh, 0, 0};
       },
       6 + 1024 + 16 + 8},
      {"a stride that wraps around",
       [](int i) {
         return Point{static_cast<std::int64_t>(static_cast<std::uint64_t>(i) << 62), 0, 0};
       },
       6 + 16 + 16 + 8},
      {"steps that go back",
       [](int i) {
         return Point{i < 90 ? i : i - 50, 0, 0};
       },
       6 + 142 + 24},
      {"not finite",
       [](int i) {
         constexpr double values[] = {std::numeric_limits<double>::quiet_NaN(),
                                      std::numeric_limits<double>::infinity(),
                                      -std::numeric_limits<double>::infinity(), -0.0, 0.0};
         return Point{i, std::numeric_limits<double>::quiet_NaN(), values[i % 5]};
       },
       6 + 16 + 16 + 512},
      {"a NaN whose bits no float has",
       [](int i) {
         return Point{i, 0, i == 64 ? std::bit_cast<double>(0x7FF8000000000001ULL) : 1.5};
       },
       6 + 16 + 16 + 1024},
      {"a signalling NaN",
       [](int i) {
         return Point{i, 0, i == 3 ? std::bit_cast<double>(0x7FF0000020000000ULL) : 1.5};
       },
       6 + 16 + 16 + 1024},
      {"beyond a float",
       [](int i) {
         return Point{i, 0, i == 3 ? 1e300 : 1e-300};
       },
       6 + 16 + 16 + 1024},
      {"floats that are denormal",
       [](int i) {
         return Point{i, 0, std::bit_cast<float>(static_cast<std::uint32_t>(i + 1))};
       },
       6 + 16 + 16 + 512},
  };
}

TEST(SeriesBlockTest, EveryBitComesBackInFewBytes) {
  for (const Row& row : Rows()) {
    SCOPED_TRACE(row.name);
    for (const std::size_t count : {1, 2, 3, 4, 63, 64, 127, 128}) {
      const std::vector<Point> points = Make(count, row.point);
      const std::string block = Encode(points);
      if (count == kBlockPoints) {
        EXPECT_LE(block.size(), row.most_bytes);
      }
      EXPECT_LE(block.size(), 6 + 40 + 24 * count);
      ExpectSame(points, Decode(block));
    }
  }
}

TEST(SeriesBlockTest, AColumnIsReadAsFarAsItIsWanted) {
  for (const Row& row : Rows()) {
    SCOPED_TRACE(row.name);
    const std::vector<Point> points = Make(kBlockPoints, row.point);
    const std::string block = Encode(points);
    const auto columns = BlockColumns::Parse(block);
    ASSERT_TRUE(columns.has_value());
    for (const std::size_t count : {0, 1, 2, 3, 100, 128}) {
      std::vector<std::int64_t> steps(count + 1);
      std::vector<double> wall_times(count + 1);
      std::vector<double> values(count + 1);
      ASSERT_TRUE(columns->Steps({steps.data(), count}));
      ASSERT_TRUE(columns->WallTimes({wall_times.data(), count}));
      ASSERT_TRUE(columns->Values({values.data(), count}));
      std::vector<Point> read;
      for (std::size_t i = 0; i < count; ++i) read.push_back({steps[i], wall_times[i], values[i]});
      ExpectSame({points.begin(), points.begin() + static_cast<std::ptrdiff_t>(count)}, read);
    }
  }
}

TEST(SeriesBlockTest, ABlockCutAnywhereIsRefused) {
  for (const Row& row : Rows()) {
    SCOPED_TRACE(row.name);
    const std::string block = Encode(Make(40, row.point));
    for (std::size_t length = 0; length < block.size(); ++length) {
      EXPECT_TRUE(Decode(std::string_view(block).substr(0, length)).empty()) << length;
    }
    EXPECT_TRUE(Decode(block + '\0').empty());
  }
}

TEST(SeriesBlockTest, WhatIsNoBlockIsRefused) {
  const std::string good = Encode(Make(40, [](int i) { return Point{i * i, Clock(i), 0.5}; }));
  ASSERT_EQ(Decode(good).size(), 40u);
  const auto with = [&](std::size_t at, int byte) {
    std::string block = good;
    block[at] = static_cast<char>(byte);
    return block;
  };
  EXPECT_TRUE(Decode(with(0, good[0] | 0x40)).empty()) << "an unknown bit";
  EXPECT_TRUE(Decode(with(0, good[0] | 0x03)).empty()) << "an unknown way to store steps";
  EXPECT_TRUE(Decode(with(0, good[0] | 0x30)).empty()) << "an unknown way to store values";
  EXPECT_TRUE(Decode(with(1, 0)).empty()) << "no points";
  EXPECT_TRUE(Decode(with(1, 129)).empty()) << "too many";
  EXPECT_TRUE(Decode(with(1, 41)).empty()) << "one that is not there";
  EXPECT_TRUE(Decode(with(1, 39)).empty()) << "one too few";
  EXPECT_TRUE(Decode(with(3, 0xFF)).empty()) << "steps beyond the end";
  // A varint of ten bytes, the last of which has more than one bit.
  EXPECT_TRUE(Decode(with(6 + 16, 0x80)).empty()) << "a varint that goes on";
}

TEST(SeriesBlockTest, NoFlippedByteIsReadOutside) {
  for (const Row& row : Rows()) {
    const std::string good = Encode(Make(20, row.point));
    for (std::size_t at = 0; at < good.size(); ++at) {
      for (const int flip : {1, 2, 4, 8, 16, 32, 64, 128, 255}) {
        std::string block = good;
        block[at] = static_cast<char>(block[at] ^ flip);
        EXPECT_LE(Decode(block).size(), kBlockPoints);
      }
    }
  }
}

}  // namespace
}  // namespace datamanager
