#include "tools/yard/state/yard_command.h"

#include "gtest/gtest.h"

namespace yard {
namespace {

TEST(YardCommandTest, ANameIsOneWordAndNoFlag) {
  EXPECT_EQ(YardCommand("plot", "lr=0.1,bs=32"), "yard plot lr=0.1,bs=32");
  EXPECT_EQ(YardCommand("plot", "f;touch pwn"), "yard plot 'f;touch pwn'");
  EXPECT_EQ(YardCommand("plot", "a&b"), "yard plot 'a&b'");
  EXPECT_EQ(YardCommand("show", "-rf"), "yard show -- -rf");
  EXPECT_EQ(YardCommand("show", "a\x1b[2J"), "yard show 'a\\x1B[2J'");
}

}  // namespace
}  // namespace yard
