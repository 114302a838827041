// Tests that a program changes its own configuration, labels, note and name: in the store, in the
// run's directory, and in the trial's details.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bus/schema/trainer_generated.h"
#include "runtime/file/file.h"
#include "trainer/testing/trials_fixture.h"

namespace trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kOk[] = R"({"t":"ok","events":[]})";

class TrialConfigurationTest : public TrialsFixture {
 protected:
  TrialConfigurationTest() { Start(); }

  static msg::RunTrialRequestT Configured(const std::string& name) {
    msg::RunTrialRequestT request = Request(name);
    request.config = R"({"lr":0.1,"net":{"depth":2}})";
    request.max_restarts = 1;
    return request;
  }
  static std::string Config(const std::string& changes) {
    return absl::StrCat(R"({"t":"config","c":)", changes, "}");
  }
  std::string ParamsOf(const std::string& run) {
    return runtime::ReadFile(absl::StrCat(directory_, "/runs/", run, "/params.json"), 1 << 20)
        .value_or("missing");
  }
  std::string ConfigOf(const std::string& id) {
    absl::StatusOr<msg::TrialDetailsReplyT> details;
    On([&] { trials_->Details(id, [&](auto reply) { details = std::move(reply); }); });
    EXPECT_TRUE(details.ok()) << details.status();
    return details.ok() ? details->config : "";
  }
  void ExpectChanged(const std::string& id, const std::string& run) {
    EXPECT_EQ(ConfigOf(id), R"({"lr":0.5,"net":{"depth":2},"seed":7})");
    EXPECT_EQ(ParamsOf(run),
              "{\n  \"lr\": 0.5,\n  \"net\": {\n    \"depth\": 2\n  },\n  \"seed\": 7\n}\n");
  }
};

TEST_F(TrialConfigurationTest, AChangeIsKeptOverARestartAndIsTheNextAttempts) {
  const std::string id = Run(Configured("one"));
  EXPECT_EQ(Say("j-1", 1, Config(R"({"lr":0.5,"seed":7})")), kOk);
  ExpectChanged(id, "one");
  Restart();
  ExpectChanged(id, "one");
  EXPECT_EQ(Say("j-1", 1, Config(R"({"lr":0.5,"seed":7})")), kOk) << "resent: the same answer";
  SayEnd("j-1", 1);
  On([&] { jobs_.End("j-1", 1, ""); });
  Advance(absl::Seconds(1));
  EXPECT_THAT(Say("j-2", 1, R"({"t":"hello","v":1})"),
              HasSubstr(R"("config":{"lr":0.5,"net":{"depth":2},"seed":7})"));
  ExpectChanged(id, "one");
  SayEnd("j-2", 1);
  On([&] { jobs_.End("j-2", 0, ""); });
  Advance(absl::Minutes(5));
  ExpectChanged(id, "one");
  Restart();
  ExpectChanged(id, "one");
}

TEST_F(TrialConfigurationTest, LinesThatComeTogetherCountInTheirOrder) {
  const std::string id = Run(Configured("one"));
  const auto answers = Relay("j-1", {{AttemptKey(), 1, Config(R"({"lr":3,"seed":7})"), false},
                                     {AttemptKey(), 2, R"({"t":"report","m":{"loss":1}})", false},
                                     {AttemptKey(), 3, Config(R"({"lr":0.5})"), false},
                                     {AttemptKey(), 4, R"({"t":"hello","v":1})", false}});
  EXPECT_THAT(TextOf(answers[3]), HasSubstr(R"("config":{"lr":0.5,"net":{"depth":2},"seed":7})"));
  ExpectChanged(id, "one");
  EXPECT_EQ(Rows(id).size(), 1u);
}

TEST_F(TrialConfigurationTest, ATrainerThatWasKilledBeforeItWroteTheFileWritesItAtItsNextStart) {
  const std::string id = Run(Configured("one"));
  EXPECT_EQ(Say("j-1", 1, Config(R"({"lr":0.5,"seed":7})")), kOk);
  Kill();
  ASSERT_TRUE(
      runtime::WriteFileAtomically(directory_ + "/runs/one/params.json", "{}\n", 0644).ok());
  Start();
  ExpectChanged(id, "one");
}

TEST_F(TrialConfigurationTest, TheFileOfATrialThatHasEndedIsWrittenAtTheNextStart) {
  const std::string id = Run(Configured("one"));
  EXPECT_EQ(Say("j-1", 1, Config(R"({"lr":0.5,"seed":7})")), kOk);
  SayEnd("j-1", 2);
  On([&] { jobs_.End("j-1", 0, ""); });
  Advance(absl::Minutes(5));
  Kill();
  // Simulates a change that lacked room on the disk.
  ASSERT_TRUE(
      runtime::WriteFileAtomically(directory_ + "/runs/one/params.json", "{}\n", 0644).ok());
  Start();
  On([] {});
  ExpectChanged(id, "one");
}

TEST_F(TrialConfigurationTest, AChangeThatIsRefusedChangesNothing) {
  const std::string id = Run(Configured("one"));
  EXPECT_EQ(Say("j-1", 1, Config(R"({"lr":0.5,"seed":7})")), kOk);
  const std::string large(600 << 10, 'x');
  EXPECT_EQ(Say("j-1", 2, Config(absl::StrCat(R"({"lr":1,"text":")", large, "\"}"))),
            R"({"t":"error","code":"INVALID_ARGUMENT","error":"config has 614445 bytes, more than )"
            R"(524288"})");
  EXPECT_THAT(Say("j-1", 3, Config("[]")), HasSubstr("config needs an object"));
  ExpectChanged(id, "one");
  EXPECT_EQ(Say("j-1", 4, R"({"t":"report","m":{"loss":1}})"), kOk);
}

TEST_F(TrialConfigurationTest, AProgramAnnotatesItsRun) {
  const std::string id = Run(Configured("one"));
  EXPECT_EQ(Say("j-1", 1, R"({"t":"annotate","labels":["a","b"],"note":"n","name":"One"})"), kOk);
  EXPECT_EQ(Say("j-1", 2, R"({"t":"annotate","labels":["b"],"remove_labels":["a"]})"), kOk);
  EXPECT_THAT(Say("j-1", 3, R"({"t":"annotate","labels":["\n"]})"),
              HasSubstr("it holds a control character"));
  Restart();
  const msg::TrialT trial = Get(id);
  EXPECT_THAT(trial.labels, ElementsAre("b"));
  EXPECT_EQ(trial.note, "n");
  EXPECT_EQ(trial.display_name, "One");
  EXPECT_THAT(runtime::ReadFile(directory_ + "/runs/one/annotations.json", 1000).value_or(""),
              HasSubstr("\"display_name\": \"One\""));
}

}  // namespace
}  // namespace trainer
