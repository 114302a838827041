#include "bus/wire/topic.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace bus {
namespace {

using ::testing::HasSubstr;

TEST(TopicTest, TakesEightLevelsAndTwoHundredBytes) {
  EXPECT_EQ(CheckTopic("e/"), absl::OkStatus());
  EXPECT_EQ(CheckTopic("1/2/3/4/5/6/7/8/"), absl::OkStatus());
  EXPECT_EQ(CheckTopic("$sys/A-z_0.9/"), absl::OkStatus());
  EXPECT_EQ(CheckTopic(std::string(199, 'a') + "/"), absl::OkStatus());
}

TEST(TopicTest, SaysWhatIsWrong) {
  const auto why = [](std::string_view topic) {
    const absl::Status status = CheckTopic(topic);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << topic;
    return std::string(status.message());
  };
  EXPECT_THAT(why(""), HasSubstr("empty"));
  EXPECT_THAT(why("e"), HasSubstr("end in"));
  EXPECT_THAT(why("/"), HasSubstr("empty level"));
  EXPECT_THAT(why("e//x/"), HasSubstr("empty level at byte 2"));
  EXPECT_THAT(why("e/a b/"), HasSubstr("byte 3"));
  EXPECT_THAT(why("e/\x1b]0;/"), HasSubstr("\\x1b"));
  EXPECT_THAT(why("1/2/3/4/5/6/7/8/9/"), HasSubstr("9 levels"));
  EXPECT_THAT(why(std::string(200, 'a') + "/"), HasSubstr("201 bytes"));
  EXPECT_THAT(why("e/../x/"), HasSubstr("the level at byte 2 would be"));
  EXPECT_THAT(why("./"), HasSubstr("the level at byte 0"));
  EXPECT_EQ(CheckTopic("e/.../.x/"), absl::OkStatus());
}

TEST(TopicTest, EncodesAnyTextAsOneLevelAndBack) {
  for (const std::string text :
       {"loss", "train/loss", "a b", "", "$", "50%", "\xff\n", "x$2F", ".", "..", "...", ".a"}) {
    const std::string level = EncodeLevel(text);
    EXPECT_EQ(CheckTopic(level + "/"), absl::OkStatus()) << level;
    EXPECT_EQ(level.find('/'), std::string::npos);
    EXPECT_EQ(DecodeLevel(level), text);
  }
  EXPECT_EQ(EncodeLevel("train/loss"), "train$2Floss");
  EXPECT_EQ(EncodeLevel(".."), "$2E$2E");
}

TEST(TopicTest, CutsLongLevelsApart) {
  const std::string a = EncodeLevel(std::string(100, 'x') + "a");
  const std::string b = EncodeLevel(std::string(100, 'x') + "b");
  EXPECT_EQ(a.size(), 89u);
  EXPECT_NE(a, b);
  EXPECT_EQ(a.substr(0, 81), std::string(80, 'x') + "$");
  EXPECT_EQ(EncodeLevel(std::string(80, 'x')), std::string(80, 'x'));
  EXPECT_EQ(DecodeLevel(a), a);
}

TEST(TopicTest, PutsLevelsTogether) {
  EXPECT_EQ(TopicOf({"m", "run/1", "loss"}), "m/run$2F1/loss/");
  EXPECT_EQ(TopicOf({"$sys", "reg", "launcher", "0"}), "$sys/reg/launcher/0/");
}

}  // namespace
}  // namespace bus
