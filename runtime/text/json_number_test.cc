#include "runtime/text/json_number.h"

#include <limits>

#include "gtest/gtest.h"

namespace runtime {
namespace {

TEST(NotFiniteWordTest, NamesWhatJsonLacks) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(NotFiniteWord(std::numeric_limits<double>::quiet_NaN()), "NaN");
  EXPECT_EQ(NotFiniteWord(-std::numeric_limits<double>::quiet_NaN()), "NaN");
  EXPECT_EQ(NotFiniteWord(kInfinity), "Infinity");
  EXPECT_EQ(NotFiniteWord(-kInfinity), "-Infinity");
  EXPECT_EQ(NotFiniteWord(0), "");
  EXPECT_EQ(NotFiniteWord(std::numeric_limits<double>::max()), "");
}

}  // namespace
}  // namespace runtime
