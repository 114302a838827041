#include "launcher/wire/relayed_line.h"

#include <gtest/gtest.h>

namespace launcher {
namespace {

TEST(RelayedLineTest, FindsTheTypeWhereverItStands) {
  EXPECT_EQ(ReportLineType(R"({"t":"hb"})"), "hb");
  EXPECT_EQ(ReportLineType(R"( { "m" : {"t":"no"}, "x":[1,"t"], "t" : "log" })"), "log");
  EXPECT_EQ(ReportLineType(R"({"text":"\"t\":\"no\"","t":"fail"})"), "fail");
}

TEST(RelayedLineTest, FindsNoneWhereThereIsNone) {
  for (const char* line :
       {"", "{}", "garbage", R"({"t":1})", R"({"t")", R"({"t":"hb)", R"("t":"hb")",
        R"({"x":"t","y":"hb"})", R"({"x":{"t":"hb"}})", R"({"\)"}) {
    EXPECT_EQ(ReportLineType(line), "") << line;
  }
}

TEST(RelayedLineTest, OnlyThreeTypesAreNotAnswered) {
  EXPECT_FALSE(WantsAnswer("log"));
  EXPECT_FALSE(WantsAnswer("hb"));
  EXPECT_FALSE(WantsAnswer("fail"));
  EXPECT_TRUE(WantsAnswer("report"));
  EXPECT_TRUE(WantsAnswer(""));
}

TEST(RelayedLineTest, AStopTakesThePlaceOfAnOkThatSaysNothingElse) {
  EXPECT_EQ(StopInPlaceOf(R"({"t":"ok","seq":7,"events":[]})", 1.5),
            R"({"t":"stop","seq":7,"reason":"stop","grace_s":1.5})");
  EXPECT_EQ(StopInPlaceOf(R"({"t":"ok","events":[]})", 10),
            R"({"t":"stop","reason":"stop","grace_s":10})");
  for (const char* const other :
       {R"({"t":"ok","seq":7,"events":[1]})", R"({"t":"ok","path":"/a","events":[]})",
        R"({"t":"stop","seq":7,"reason":"pause","grace_s":3})", R"({"t":"error","code":"X"})", "",
        R"({"t":"ok")"}) {
    EXPECT_EQ(StopInPlaceOf(other, 1), "") << other;
  }
}

}  // namespace
}  // namespace launcher
