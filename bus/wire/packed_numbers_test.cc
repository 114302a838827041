#include "bus/wire/packed_numbers.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "gtest/gtest.h"

namespace bus {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

template <typename T>
std::vector<T> NumbersOf(const msg::PackedNumbersT& packed) {
  EXPECT_EQ(WidthOf(packed.type), sizeof(T));
  std::vector<T> numbers(packed.data.size() / sizeof(T));
  std::memcpy(numbers.data(), packed.data.data(), packed.data.size());
  return numbers;
}

TEST(PackedNumbersTest, FloatsTakeFourBytes) {
  const auto packed = PackNumbers(std::vector<double>{0.25, -INFINITY, kNaN});
  EXPECT_EQ(packed->type, msg::NumberType::Float32);
  const std::vector<float> numbers = NumbersOf<float>(*packed);
  ASSERT_EQ(numbers.size(), 3U);
  EXPECT_EQ(numbers[0], 0.25F);
  EXPECT_EQ(numbers[1], -INFINITY);
  EXPECT_TRUE(std::isnan(numbers[2]));
}

TEST(PackedNumbersTest, ANumberThatIsNoFloatKeepsAllNumbersWhole) {
  for (const double number : {0.1, 16'777'217.0, 1e300, 1e-300}) {
    const auto packed = PackNumbers(std::vector<double>{number, 1});
    EXPECT_EQ(packed->type, msg::NumberType::Float64) << number;
    EXPECT_EQ(NumbersOf<double>(*packed), (std::vector<double>{number, 1}));
  }
}

TEST(PackedNumbersTest, StepsComeBackAsTheyWere) {
  const std::vector<std::vector<std::int64_t>> all = {
      {}, {5}, {-3, 0, 7}, {kLeast, kLeast + 0xFFFF'FFFFLL}, {kMost - 1, kMost}};
  for (const std::vector<std::int64_t>& steps : all) {
    const auto packed = PackSteps(steps);
    EXPECT_EQ(packed->type, msg::NumberType::Uint32Above);
    EXPECT_EQ(packed->data.size(), 4 * steps.size());
    EXPECT_EQ(UnpackSteps(*packed), steps);
  }
}

TEST(PackedNumbersTest, StepsFarApartComeBackAsTheyWere) {
  const std::vector<std::vector<std::int64_t>> all = {
      {kLeast, 0, kMost}, {-1, 0xFFFF'FFFFLL}, {0, 0x1'0000'0000LL}};
  for (const std::vector<std::int64_t>& steps : all) {
    const auto packed = PackSteps(steps);
    EXPECT_EQ(packed->type, msg::NumberType::Int64);
    EXPECT_EQ(UnpackSteps(*packed), steps);
  }
}

TEST(PackedNumbersTest, OtherNumbersAreNoSteps) {
  EXPECT_EQ(UnpackSteps(*PackCounts(std::vector<std::uint32_t>{1})), std::nullopt);
  EXPECT_EQ(UnpackSteps(*PackNumbers(std::vector<double>{1})), std::nullopt);
}

TEST(PackedNumbersTest, ATypeOfALaterVersionHasNoWidth) {
  EXPECT_EQ(WidthOf(static_cast<msg::NumberType>(100)), 0U);
}

}  // namespace
}  // namespace bus
