#include "web/api/log_page.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace web {
namespace {

using nlohmann::json;
using testing::ElementsAre;

class LogPageTest : public testing::Test {
 protected:
  void Say(LogPage& page, const std::string& text, msg::LogStream stream = msg::LogStream::Stdout) {
    msg::LogsReplyT part;
    part.task = "j-abcde/worker-0";
    part.attempt = 1;
    part.stream = stream;
    part.offset = offsets_[stream];
    part.data.assign(text.begin(), text.end());
    offsets_[stream] += text.size();
    page.Add(part);
  }
  static std::vector<std::string> Texts(const json& page) {
    std::vector<std::string> texts;
    for (const json& line : page["lines"]) texts.push_back(line["text"]);
    return texts;
  }
  std::map<msg::LogStream, std::uint64_t> offsets_;
};

TEST_F(LogPageTest, LinesAreWholeHoweverTheyCome) {
  LogPage page({});
  Say(page, "on");
  Say(page, "error\n", msg::LogStream::Stderr);
  Say(page, "e\ntwo\r\nth");
  Say(page, "ree");
  const json text = page.Finish();
  EXPECT_THAT(Texts(text), ElementsAre("error", "one", "two", "three"));
  EXPECT_EQ(text["lines"][0]["stream"], "stderr");
  EXPECT_EQ(text["lines"][1]["end"], 4);
  EXPECT_EQ(text["lines"][2]["end"], 9);
  EXPECT_EQ(text["lines"][3]["end"], 14);
  EXPECT_EQ(text["lines"][3]["task"], "j-abcde/worker-0");
}

TEST_F(LogPageTest, ASearchComesBeforeTheLimit) {
  LogPage page({.find = "nan", .limit = 2});
  for (const char* line : {"loss NaN 1\n", "x\n", "grad nan 2\n", "y\n", "nan 3\n", "z\n"}) {
    Say(page, line);
  }
  const json text = page.Finish();
  EXPECT_THAT(Texts(text), ElementsAre("grad nan 2", "nan 3"));
  EXPECT_EQ(text["found"], 3);
  EXPECT_EQ(text["read"], 6);
}

TEST_F(LogPageTest, CapitalsFindOnlyThemselves) {
  LogPage page({.find = "NaN"});
  Say(page, "NaN\nnan\n");
  EXPECT_THAT(Texts(page.Finish()), ElementsAre("NaN"));
}

TEST_F(LogPageTest, ALongLineIsCut) {
  LogPage page({});
  Say(page, std::string(kMostLineBytes, 'a'));
  Say(page, std::string(kMostLineBytes, 'b') + "\nend\n");
  const json text = page.Finish();
  EXPECT_EQ(text["lines"][0]["text"].get<std::string>().size(), kMostLineBytes);
  EXPECT_EQ(text["lines"][1]["text"], "end");
}

}  // namespace
}  // namespace web
