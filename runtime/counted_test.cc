#include "runtime/counted.h"

#include <gtest/gtest.h>

namespace runtime {
namespace {

TEST(CountedTest, OnlyOneIsSingular) {
  EXPECT_EQ(Counted(0, "restart"), "0 restarts");
  EXPECT_EQ(Counted(1, "restart"), "1 restart");
  EXPECT_EQ(Counted(2, "restart"), "2 restarts");
}

TEST(CountedTest, APluralMayBeAnotherWord) {
  EXPECT_EQ(Counted(1, "address", "addresses"), "1 address");
  EXPECT_EQ(Counted(18'446'744'073'709'551'615u, "address", "addresses"),
            "18446744073709551615 addresses");
}

}  // namespace
}  // namespace runtime
