// FakeYard, on which the tests of verbs stand, answers as the services do: the same commands to
// both print the same words and end with the same exit code.

#include "tools/yard/testing/fake_yard.h"

#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "re2/re2.h"
#include "tests/yard_fixture.h"

namespace tests {
namespace {

struct Said {
  int code = -1;
  std::string out, err;
};

// Without what differs from yard to yard: ids, times, paths.
std::string Masked(std::string text, const std::string& logdir) {
  text = absl::StrReplaceAll(text, {{logdir, "LOGDIR"}});
  RE2::GlobalReplace(&text, "\\b(t|j)-[a-z0-9]{5}\\b", "\\1-ID");
  return text;
}

class FakeYardTest : public testing::Test {
 protected:
  FakeYardTest() {
    EXPECT_EQ(real_.Run({"up"}).exit_code, 0);
    const CommandResult run =
        real_.Run({"run", "--name", "first", "--", "/bin/sh", "-c",
                   R"(echo '{"t":"report","m":{"loss":0.5}}' >&3; read -r r <&3)"});
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_TRUE(Yard::Eventually(
        [&] { return real_.Run({"runs"}).out.find("first") != std::string::npos; }));
    fake_.AddTrial("t-abcde", "first", msg::TrialState::Done);
    fake_.AddReport("t-abcde", R"({"loss": 0.5})");
    fake_.AddSeries({.run = "first", .tag = "loss", .values = {0.5}, .steps = {1}});
    fake_.Start();
  }
  ~FakeYardTest() override { real_.Run({"down"}); }

  Said Real(const std::vector<std::string>& words) {
    const CommandResult result = real_.Run(words);
    return {result.exit_code, Masked(result.out, real_.logdir()),
            Masked(result.err, real_.logdir())};
  }
  Said Fake(const std::vector<std::string>& words) {
    const yard::FakeYard::Output output = fake_.Run(words);
    return {output.code, Masked(output.out, fake_.logdir()), Masked(output.err, fake_.logdir())};
  }

  Yard real_;
  yard::FakeYard fake_;
};

TEST_F(FakeYardTest, RefusesAndFailsInTheWordsOfTheServices) {
  const std::vector<std::vector<std::string>> kCommands = {
      {"show", "nothing"},
      {"stop", "nothing"},
      {"pause", "nothing"},
      {"resume", "nothing"},
      {"restart", "nothing"},
      {"signal", "nothing", "TERM"},
      {"tell", "nothing", "1"},
      {"rm", "nothing"},
      {"logs", "nothing"},
      {"wait", "nothing"},
      {"watch", "nothing"},
      {"plot", "nothing"},
      {"export", "nothing"},
      {"compare", "nothing", "first"},
      {"ps", "nothing"},
      {"pause", "first"},
      {"resume", "first"},
      {"tell", "first", "1"},
      {"stop", "first"},
      {"wait", "first"},
      {"plot", "first", "nothing"},
      {"export", "first", "nothing"},
      {"call", "trainer", "Nothing"},
      {"call", "launcher", "Jobs", "{\"job\":\"nothing\"}"},
      {"call", "trainer", "StopTrial", "{\"trial\":\"nothing\"}"},
      {"call", "datamanager", "Tags", "{\"run\":\"nothing\"}"},
  };
  for (const std::vector<std::string>& words : kCommands) {
    const Said real = Real(words), fake = Fake(words);
    const std::string command = absl::StrJoin(words, " ");
    EXPECT_EQ(fake.code, real.code) << command;
    EXPECT_EQ(fake.err, real.err) << command;
  }
}

TEST_F(FakeYardTest, AnswersInTheWordsOfTheServices) {
  const std::vector<std::vector<std::string>> kCommands = {
      {"wait", "first"},    {"stop", "first"}, {"plot", "first", "loss"},
      {"compare", "first"}, {"rm", "first"},
  };
  for (const std::vector<std::string>& words : kCommands) {
    const Said real = Real(words), fake = Fake(words);
    const std::string command = absl::StrJoin(words, " ");
    EXPECT_EQ(fake.code, real.code) << command << "\n" << fake.err << real.err;
    EXPECT_EQ(fake.out, real.out) << command;
  }
}

}  // namespace
}  // namespace tests
