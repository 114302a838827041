#include "runtime/text/byte_size.h"

#include <cstdint>
#include <limits>

#include "gtest/gtest.h"

namespace runtime {
namespace {

TEST(ByteSizeTest, HasTheLargestUnitThatLeavesNoRest) {
  EXPECT_EQ(ByteSize(0), "0");
  EXPECT_EQ(ByteSize(1000), "1000");
  EXPECT_EQ(ByteSize(1024), "1KiB");
  EXPECT_EQ(ByteSize(std::uint64_t{512} << 20), "512MiB");
  EXPECT_EQ(ByteSize(std::uint64_t{1536} << 20), "1536MiB");
  EXPECT_EQ(ByteSize(std::uint64_t{4} << 30), "4GiB");
  EXPECT_EQ(ByteSize(std::uint64_t{2048} << 40), "2048TiB");
  EXPECT_EQ(ByteSize((std::uint64_t{4} << 30) + 1), "4294967297");
  EXPECT_EQ(ByteSize(std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
}

}  // namespace
}  // namespace runtime
