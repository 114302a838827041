#include "runtime/text/shell_word.h"

#include "gtest/gtest.h"

namespace runtime {
namespace {

TEST(ShellWordTest, QuotesWhatAShellWouldRead) {
  EXPECT_EQ(ShellWord("/a-b_c/d.e"), "/a-b_c/d.e");
  EXPECT_EQ(ShellWord(""), "''");
  EXPECT_EQ(ShellWord("a $b"), "'a $b'");
  EXPECT_EQ(ShellWord("a\nb"), "'a\nb'");
  EXPECT_EQ(ShellWord("it's"), R"('it'\''s')");
  EXPECT_EQ(ShellWord("f;touch pwn"), "'f;touch pwn'");
  EXPECT_EQ(ShellWord("~/x"), "'~/x'");
  EXPECT_EQ(ShellWord("=ls"), "'=ls'");
  EXPECT_EQ(ShellWord("lr=0.1,bs=32"), "lr=0.1,bs=32");
}

}  // namespace
}  // namespace runtime
