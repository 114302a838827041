#include "tools/yard/text/plain_numbers.h"

#include "gtest/gtest.h"

namespace yard {
namespace {

TEST(PlainNumbersTest, SpellingsOfANumberAreAlike) {
  for (const char* name : {"lr=1e-4", "lr=0.0001", "lr=.0001", "lr=1E-04", "lr=1.0e-4"}) {
    EXPECT_EQ(WithPlainNumbers(name), WithPlainNumbers("lr=0.00010")) << name;
  }
  EXPECT_EQ(WithPlainNumbers("a=1.,b=2"), WithPlainNumbers("a=1,b=2.0"));
  EXPECT_NE(WithPlainNumbers("a=1,b=2"), WithPlainNumbers("a=1,b=3"));
}

TEST(PlainNumbersTest, OtherTextStays) {
  for (const char* name : {"", "resnet", "v1.2.3", "a1e5", "1e5a", ".", "-", "x.y", "e1"}) {
    EXPECT_EQ(WithPlainNumbers(name), name);
  }
}

}  // namespace
}  // namespace yard
