#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bus/schema/trainer_generated.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/file/file.h"
#include "trainer/report/line_receiver.h"
#include "trainer/table/trials.h"
#include "trainer/testing/trials_fixture.h"

// Trials of processes that attached themselves; the test plays their shims.

namespace trainer {
namespace {

using msg::TrialState;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kReport = R"({"t":"report","m":{"loss":1},"seq":1})";

class AttachedTrialsTest : public TrialsFixture {
 protected:
  AttachedTrialsTest() { options_.slots = 1; }

  absl::StatusOr<AttemptKey> TryAttach(const std::string& nonce, const std::string& request) {
    absl::StatusOr<AttemptKey> key;
    On([&] {
      trials_->OnOver([this](const AttemptKey& attempt, const std::string& why) {
        over_.push_back(absl::StrCat(attempt.trial, ": ", why));
      });
      key = trials_->Attach({.nonce = nonce, .pid = 17, .request = request});
      if (key.ok()) trials_->OnConnection(*key, true);
    });
    return key;
  }
  // Attaches a process and returns the id of its trial.
  std::string Attach(const std::string& nonce, const std::string& name) {
    const auto key = TryAttach(nonce, absl::StrCat(R"({"name": ")", name, R"("})"));
    EXPECT_TRUE(key.ok()) << key.status();
    attempt_ = key.value_or(AttemptKey());
    return IdOf(name);
  }
  std::string IdOf(const std::string& name) {
    std::string id;
    On([&] { id = trials_->Find(name).value_or(""); });
    return id;
  }
  std::string Tell(std::int64_t number, std::string_view text, bool is_end = false) {
    std::string answer;
    On([&] {
      answer = TextOf(trials_->Receive({{attempt_, number, std::string(text), is_end}}).front());
    });
    return answer;
  }
  void Disconnect() {
    On([&] { trials_->OnConnection(attempt_, false); });
  }

  AttemptKey attempt_;
  std::vector<std::string> over_;
};

TEST_F(AttachedTrialsTest, RunsAtOnceTakesNoSlotAndIsNeverLaunched) {
  Start();
  const auto key = TryAttach(
      "n1", R"({"name": "first", "config": {"lr": 0.5}, "labels": ["base"], "note": "by hand",
                "argv": ["python3", "train.py"], "working_directory": "/tmp", "umask": 63})");
  ASSERT_TRUE(key.ok()) << key.status();
  attempt_ = *key;
  const std::string id = IdOf("first");
  const msg::TrialT trial = Get(id);
  EXPECT_EQ(trial.state, TrialState::Running);
  EXPECT_EQ(trial.attached_pid, 17u);
  EXPECT_THAT(trial.argv, ElementsAre("python3", "train.py"));
  EXPECT_THAT(trial.labels, ElementsAre("base"));
  EXPECT_EQ(trial.note, "by hand");
  EXPECT_EQ(trial.job, "");
  const std::string run = directory_ + "/runs/first";
  EXPECT_THAT(runtime::ReadFile(run + "/params.json", 1 << 20).value_or(""), HasSubstr("0.5"));
  namespace fs = std::filesystem;
  EXPECT_EQ(fs::status(run).permissions(), fs::perms::owner_all);
  EXPECT_THAT(Tell(1, R"({"t":"hello","v":1,"pid":17})"), HasSubstr(R"("name":"first")"));
  EXPECT_EQ(Tell(2, kReport), R"({"t":"ok","seq":1,"events":[]})");
  // The only slot is still free.
  const std::string other = Run("other");
  EXPECT_EQ(Get(other).state, TrialState::Running);
  EXPECT_EQ(jobs_.launches, 1);
  EXPECT_EQ(Tell(2, "finished", true), "");
  EXPECT_EQ(Get(id).state, TrialState::Done);
  EXPECT_EQ(Get(id).reports, 1u);
  EXPECT_EQ(Get(id).reason, "");
  EXPECT_THAT(over_, ElementsAre());
}

TEST_F(AttachedTrialsTest, TheSameNonceIsTheSameTrialOverARestart) {
  Start();
  const std::string id = Attach("n1", "first");
  EXPECT_THAT(Tell(1, kReport), HasSubstr("ok"));
  Restart();
  EXPECT_EQ(Get(id).state, TrialState::Running);
  EXPECT_EQ(Attach("n1", "first"), id);
  EXPECT_EQ(Tell(1, kReport), R"({"t":"ok","seq":1,"events":[]})");
  EXPECT_THAT(Tell(2, kReport), HasSubstr("ok"));
  EXPECT_EQ(Tell(2, "gone", true), "");
  EXPECT_EQ(Get(id).state, TrialState::Failed);
  EXPECT_THAT(Get(id).reason, HasSubstr("process 17 ended without yard.finish()"));
  EXPECT_EQ(Rows(id).size(), 2u);
  EXPECT_EQ(jobs_.launches, 0);
  EXPECT_TRUE(absl::IsPermissionDenied(TryAttach("n1", "{}").status()));
}

TEST_F(AttachedTrialsTest, ATakenNameGetsANumber) {
  Start();
  Attach("n1", "first");
  EXPECT_NE(Attach("n2", "first"), "");
  EXPECT_NE(IdOf("first-2"), "");
  EXPECT_EQ(Tell(0, "finished", true), "");
  Attach("n3", "first");
  EXPECT_NE(IdOf("first-3"), "") << "the directory of first-2 is there";
}

TEST_F(AttachedTrialsTest, AFailureThatItTellsIsItsReason) {
  Start();
  const std::string id = Attach("n1", "first");
  EXPECT_EQ(Tell(1, R"({"t":"fail","error":"ValueError: bad"})"), "");
  EXPECT_EQ(Tell(1, "finished", true), "");
  EXPECT_EQ(Get(id).state, TrialState::Failed);
  EXPECT_EQ(Get(id).reason, "ValueError: bad");
}

TEST_F(AttachedTrialsTest, AStopIsAnAnswerAndAfterItsGraceTheTrialIsOver) {
  Start();
  const std::string id = Attach("n1", "first");
  EXPECT_THAT(Tell(1, kReport), HasSubstr("ok"));
  Stop(id, absl::Seconds(5));
  EXPECT_EQ(Get(id).state, TrialState::Stopping);
  EXPECT_EQ(Tell(2, kReport), R"({"t":"stop","seq":1,"reason":"stop","grace_s":5})");
  Advance(absl::Seconds(4));
  EXPECT_EQ(Get(id).state, TrialState::Stopping);
  Advance(absl::Seconds(2));
  EXPECT_EQ(Get(id).state, TrialState::Stopped);
  ASSERT_EQ(over_.size(), 1u);
  EXPECT_THAT(over_[0], HasSubstr("has ended (Stopped)"));
  EXPECT_THAT(Tell(3, kReport), HasSubstr("PERMISSION_DENIED"));
  EXPECT_EQ(Rows(id).size(), 2u);
}

TEST_F(AttachedTrialsTest, AStopLeavesItsGraceToAProcessThatHasNotSpoken) {
  Start();
  const std::string id = Attach("n1", "first");
  Stop(id, absl::Seconds(5));
  EXPECT_EQ(Get(id).state, TrialState::Stopping);
  EXPECT_EQ(Tell(1, kReport), R"({"t":"stop","seq":1,"reason":"stop","grace_s":5})");
  Advance(absl::Seconds(6));
  EXPECT_EQ(Get(id).state, TrialState::Stopped);
}

TEST_F(AttachedTrialsTest, AStopEndsWithItsProcess) {
  Start();
  const std::string id = Attach("n1", "first");
  EXPECT_THAT(Tell(1, kReport), HasSubstr("ok"));
  Stop(id);
  EXPECT_EQ(Tell(1, "gone", true), "");
  EXPECT_EQ(Get(id).state, TrialState::Stopped);
  EXPECT_THAT(over_, ElementsAre());
}

TEST_F(AttachedTrialsTest, WithoutAConnectionForLongItIsLost) {
  Start();
  const std::string id = Attach("n1", "first");
  Advance(absl::Minutes(10));
  EXPECT_EQ(Get(id).state, TrialState::Running) << "it may be silent";
  Disconnect();
  Advance(absl::Seconds(29));
  EXPECT_EQ(Attach("n1", "first"), id);
  Advance(absl::Minutes(1));
  EXPECT_EQ(Get(id).state, TrialState::Running) << "it came again";
  Restart();
  Advance(absl::Seconds(29));
  EXPECT_EQ(Get(id).state, TrialState::Running);
  Advance(absl::Seconds(2));
  EXPECT_EQ(Get(id).state, TrialState::Failed);
  EXPECT_EQ(Get(id).reason,
            "nothing was heard of process 17 for 30s: its yard-shim, or the machine, has ended");
}

TEST_F(AttachedTrialsTest, ItCannotPauseNorGoOn) {
  Start();
  const std::string id = Attach("n1", "first");
  absl::Status paused, resumed;
  On([&] { paused = trials_->PauseTrial(id, "").status(); });
  EXPECT_TRUE(absl::IsFailedPrecondition(paused)) << paused;
  EXPECT_EQ(Tell(0, "gone", true), "");
  On([&] { resumed = trials_->ResumeTrial(id).status(); });
  EXPECT_TRUE(absl::IsFailedPrecondition(resumed)) << resumed;
  EXPECT_THAT(resumed.message(), HasSubstr("next step"));
}

TEST_F(AttachedTrialsTest, ARequestThatIsWrongIsRefusedByName) {
  Start();
  for (const auto& [request, said] : std::vector<std::pair<std::string, std::string>>{
           {R"({"name": 1})", "name is not a string"},
           {R"({"labels": [1]})", "labels is not an array of strings"},
           {R"({"config": []})", "config is not an object"},
           {R"({"name": "a/b"})", "it must not hold a slash"},
           {R"({"name": )", "expected"}}) {
    const auto key = TryAttach("n1", request);
    EXPECT_TRUE(absl::IsInvalidArgument(key.status())) << request << key.status();
    EXPECT_THAT(key.status().message(), HasSubstr(said));
  }
  std::vector<msg::TrialT> trials;
  On([&] { trials = trials_->List({}); });
  EXPECT_TRUE(trials.empty());
}

TEST_F(AttachedTrialsTest, NoRequestOverTheBusIsOfAnAttachedProcess) {
  Start();
  msg::RunTrialRequestT request = Request("first");
  request.options->attached_pid = 17;
  const std::string id = Run(request);
  EXPECT_EQ(Get(id).attached_pid, 0u);
  EXPECT_EQ(jobs_.launches, 1);
}

}  // namespace
}  // namespace trainer
