#include "launcher/testing/spec/codec.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace launcher::testing {
namespace {

enum class Color : std::uint8_t { kRed, kBlue = 7 };

struct Point {
  int x = 0;
  std::vector<std::string> names;
  bool operator==(const Point&) const = default;
};

}  // namespace

template <>
struct Codec<Point> : Fields<&Point::x, &Point::names> {};

namespace {

template <typename T>
void ExpectSame(const T& value) {
  const auto again = EncodedValue::Of(value).template As<T>();
  ASSERT_TRUE(again.has_value()) << Codec<T>::Name();
  EXPECT_EQ(*again, value) << Codec<T>::Name();
}

TEST(CodecTest, GivesBackWhatItWasGiven) {
  ExpectSame(true);
  ExpectSame(std::numeric_limits<std::int64_t>::min());
  ExpectSame(std::numeric_limits<std::uint64_t>::max());
  ExpectSame(1.0f / 3);
  ExpectSame(-std::numeric_limits<double>::infinity());
  ExpectSame(Color::kBlue);
  ExpectSame(std::string("with \0 NUL", 10));
  ExpectSame(std::vector<bool>{true, false, true});
  ExpectSame(std::set<int>{3, 1});
  ExpectSame(std::map<std::string, std::pair<int, double>>{{"a", {1, 2.5}}, {"", {0, 0}}});
  ExpectSame(std::tuple<int, std::string, std::vector<Point>>{1, "b", {{7, {"c"}}, {}}});
  ExpectSame(std::tuple<>());
  ExpectSame(std::optional<std::optional<int>>(std::optional<int>()));
  ExpectSame(absl::NotFoundError("no such thing"));
  ExpectSame(absl::Milliseconds(-1500));
  ExpectSame(absl::InfiniteDuration());
}

TEST(CodecTest, TakesNoOtherType) {
  EXPECT_FALSE(EncodedValue::Of(1).As<unsigned>().has_value());
  EXPECT_FALSE(EncodedValue::Of(std::vector<int>{1}).As<std::vector<std::string>>().has_value());
  EXPECT_EQ((Codec<std::map<int, Point>>::Name()), "map<int32,{int32,vector<string>}>");
}

TEST(CodecTest, TakesNoBytesThatAreNotExactlyAValue) {
  const std::string bytes = Encode(std::vector<std::string>{"abc", "de"});
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(Decode<std::vector<std::string>>(bytes.substr(0, size)).has_value()) << size;
  }
  EXPECT_FALSE(Decode<std::vector<std::string>>(bytes + "x").has_value());
  // An impossible size.
  EXPECT_FALSE(Decode<std::string>(std::string(8, '\xff')).has_value());
}

}  // namespace
}  // namespace launcher::testing
