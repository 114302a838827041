#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bus/schema/launcher_generated.h"
#include "bus/schema/trainer_generated.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/table/trials.h"
#include "trainer/testing/trials_fixture.h"

namespace trainer {
namespace {

constexpr absl::Duration kHeartbeat = absl::Seconds(5);

// A trial on a node that the test can disconnect. (Other tasks are on nodes that answer.)
class AttemptGuardTest : public TrialsFixture {
 protected:
  using Usage = std::function<void(absl::StatusOr<msg::UsageReplyT>)>;

  AttemptGuardTest() {
    options_.usage = [this](Usage done) {
      if (holds_) {
        held_ = std::move(done);
      } else {
        done(Measured());
      }
    };
    Start();
    msg::RunTrialRequestT request = Request("far");
    request.options = std::make_unique<msg::TrialOptionsT>();
    request.options->pool = "lab";
    request.options->heartbeat_ms =
        static_cast<std::uint32_t>(absl::ToInt64Milliseconds(kHeartbeat));
    id_ = Run(request);
    SetNode("a");
  }
  ~AttemptGuardTest() override { Kill(); }

  // Reports from the launcher where the trial runs.
  void SetNode(const std::string& node) {
    On([&] {
      msg::JobT job;
      job.id = "j-1";
      job.state = msg::TaskState::Running;
      auto task = std::make_unique<msg::TaskT>();
      task->state = msg::TaskState::Running;
      task->node = node;
      job.tasks.push_back(std::move(task));
      jobs_.Change("j-1", job);
    });
  }
  absl::StatusOr<msg::UsageReplyT> Measured() const {
    if (!failure_.ok()) return failure_;
    msg::UsageReplyT reply;
    for (const char* const name : {"j-1/worker-0", "j-1/worker-1", "j-2/worker-0"}) {
      if (is_away_ && std::string(name) == "j-1/worker-0") continue;
      auto task = std::make_unique<msg::TaskUsageT>();
      task->task = name;
      reply.tasks.push_back(std::move(task));
    }
    return reply;
  }
  void Answer() {
    On([&] { std::exchange(held_, nullptr)(Measured()); });
  }
  std::size_t stops() { return jobs_.jobs["j-1"].stops.size(); }

  std::string id_;
  bool is_away_ = false;
  bool holds_ = false;
  Usage held_;
  absl::Status failure_;
};

TEST_F(AttemptGuardTest, AProgramWhoseNodeAnswersIsSilent) {
  Advance(kHeartbeat);
  EXPECT_EQ(stops(), 1u);
  SayEnd("j-1", 0);
  On([&] { jobs_.End("j-1", 143); });
  EXPECT_EQ(Get(id_).reason, "no sign of life for 5s");
}

TEST_F(AttemptGuardTest, AProgramWhoseNodeDoesNotAnswerIsNot) {
  is_away_ = true;
  for (int i = 0; i < 100; ++i) Advance(kHeartbeat);
  EXPECT_EQ(stops(), 0u);
  EXPECT_EQ(Get(id_).state, msg::TrialState::Running);
  // The node is back, and its program gets the full heartbeat time.
  is_away_ = false;
  Advance(kHeartbeat);
  EXPECT_EQ(stops(), 0u);
  Say("j-1", 1, R"({"t":"hb"})");
  Advance(kHeartbeat - absl::Milliseconds(1));
  EXPECT_EQ(stops(), 0u);
  // The program stays silent although the node answers.
  Advance(absl::Milliseconds(1));
  EXPECT_EQ(stops(), 1u);
}

TEST_F(AttemptGuardTest, AProgramThatDoesNotComeBackWithItsNodeIsSilent) {
  is_away_ = true;
  Advance(kHeartbeat);
  is_away_ = false;
  Advance(kHeartbeat);
  EXPECT_EQ(stops(), 0u);
  Advance(kHeartbeat);
  EXPECT_EQ(stops(), 1u);
}

TEST_F(AttemptGuardTest, WithoutALauncherNobodyIsSilentOnANode) {
  failure_ = absl::UnavailableError("no launcher");
  for (int i = 0; i < 10; ++i) Advance(kHeartbeat);
  EXPECT_EQ(stops(), 0u);
}

TEST_F(AttemptGuardTest, AProgramThatSpeaksWhileItsNodeIsAskedForIsNotSilent) {
  holds_ = true;
  Advance(kHeartbeat);
  Say("j-1", 1, R"({"t":"hb"})");
  Answer();
  EXPECT_EQ(stops(), 0u);
  Advance(kHeartbeat);
  Answer();
  EXPECT_EQ(stops(), 1u);
}

TEST_F(AttemptGuardTest, AnAnswerAfterTheEndOfTheAttemptIsOfNoUse) {
  holds_ = true;
  Advance(kHeartbeat);
  SayEnd("j-1", 0);
  On([&] { jobs_.End("j-1", 0); });
  EXPECT_EQ(Get(id_).state, msg::TrialState::Done);
  Answer();
  EXPECT_EQ(Get(id_).state, msg::TrialState::Done);
}

TEST_F(AttemptGuardTest, OnThisHostNobodyIsAsked) {
  SetNode("");
  is_away_ = true;
  Advance(kHeartbeat);
  EXPECT_EQ(stops(), 1u);
}

}  // namespace
}  // namespace trainer
