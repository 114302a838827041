#include "launcher/wire/report_line.h"

#include <gtest/gtest.h>

namespace launcher {
namespace {

TEST(ReportLineTest, FindsTheTypeWhereverItStands) {
  EXPECT_EQ(ReportLineType(R"({"t":"hb"})"), "hb");
  EXPECT_EQ(ReportLineType(R"( { "m" : {"t":"no"}, "x":[1,"t"], "t" : "log" })"), "log");
  EXPECT_EQ(ReportLineType(R"({"text":"\"t\":\"no\"","t":"fail"})"), "fail");
}

TEST(ReportLineTest, FindsNoneWhereThereIsNone) {
  for (const char* line :
       {"", "{}", "garbage", R"({"t":1})", R"({"t")", R"({"t":"hb)", R"("t":"hb")",
        R"({"x":"t","y":"hb"})", R"({"x":{"t":"hb"}})", R"({"\)"}) {
    EXPECT_EQ(ReportLineType(line), "") << line;
  }
}

TEST(ReportLineTest, OnlyThreeTypesAreNotAnswered) {
  EXPECT_FALSE(WantsAnswer("log"));
  EXPECT_FALSE(WantsAnswer("hb"));
  EXPECT_FALSE(WantsAnswer("fail"));
  EXPECT_TRUE(WantsAnswer("report"));
  EXPECT_TRUE(WantsAnswer(""));
}

}  // namespace
}  // namespace launcher
