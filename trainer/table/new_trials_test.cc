#include "trainer/table/new_trials.h"

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/report/line_receiver.h"
#include "trainer/store/trial_record.h"
#include "trainer/testing/table_fixture.h"

namespace trainer {
namespace {

using msg::TrialState;
using ::testing::HasSubstr;

class NewTrialsTest : public TableFixture {
 protected:
  NewTrialsTest()
      : new_trials_({table_.get(), &clock_, directory_, "host",
                     [this](const std::string& id) { return view_->Whole(**table_->ById(id)); }}) {}

  static msg::RunTrialRequestT Request(const std::string& name) {
    msg::RunTrialRequestT request;
    request.name = name;
    request.argv = {"prog"};
    request.working_directory = "/";
    request.options = std::make_unique<msg::TrialOptionsT>();
    return request;
  }
  absl::StatusOr<TrialRecord> Make(const msg::RunTrialRequestT& request) {
    absl::StatusOr<TrialRecord> record;
    On([&] { record = new_trials_.FromRequest("request", request); });
    return record;
  }

  const NewTrials new_trials_;
};

TEST_F(NewTrialsTest, ARecordHasSecretsAndANameOfItsOwn) {
  const auto first = Make(Request(""));
  const auto second = Make(Request(""));
  ASSERT_TRUE(first.ok() && second.ok()) << first.status() << second.status();
  EXPECT_EQ(first->spec.name, first->id());
  EXPECT_EQ(first->spec.run_directory, directory_ + "/" + first->id());
  EXPECT_EQ(first->state, TrialState::Pending);
  EXPECT_EQ(first->run.created_us, absl::ToUnixMicros(clock_.Now()));
  EXPECT_NE(first->id(), second->id());
  EXPECT_NE(first->nonce, second->nonce);
  EXPECT_NE(first->nonce, first->job_request_id);
  EXPECT_FALSE(std::filesystem::exists(first->spec.run_directory));
}

TEST_F(NewTrialsTest, ATakenNameIsRefusedUnlessAnyWillDo) {
  TrialRecord taken = Record("t-1", TrialState::Done);
  taken.spec.run_directory = directory_ + "/first";
  Add(taken);
  auto request = Request("first");
  const auto refused = Make(request);
  EXPECT_TRUE(absl::IsAlreadyExists(refused.status()));
  EXPECT_THAT(refused.status().message(), HasSubstr("taken by trial t-1 (Done)"));
  request.again = true;
  EXPECT_EQ(Make(request)->spec.name, "first.2");
}

TEST_F(NewTrialsTest, ADirectoryWithResultsIsRefused) {
  std::filesystem::create_directory(directory_ + "/first");
  std::ofstream(directory_ + "/first/result.json") << "{}";
  EXPECT_TRUE(absl::IsAlreadyExists(Make(Request("first")).status()));
}

TEST_F(NewTrialsTest, AStartWithoutACheckpointIsRefused) {
  Add("t-1", TrialState::Done);
  auto request = Request("first");
  request.options->from = "name-t-1";
  const auto refused = Make(request);
  EXPECT_TRUE(absl::IsFailedPrecondition(refused.status())) << refused.status();
  EXPECT_THAT(refused.status().message(), HasSubstr("trial t-1 has no checkpoint"));
  request.options->from = "t-9";
  EXPECT_TRUE(absl::IsNotFound(Make(request).status()));
}

TEST_F(NewTrialsTest, OtherTrialsAreKnownByTheirIds) {
  Add("t-1", TrialState::Running);
  auto request = Request("first");
  auto after = std::make_unique<msg::AfterTrialT>();
  after->trial = "name-t-1";
  request.options->after.push_back(std::move(after));
  const auto made = Make(request);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->spec.options.after.front()->trial, "t-1");
}

TEST_F(NewTrialsTest, OfAGroupThatFailsFastALateTrialIsPaused) {
  TrialRecord failed = Record("t-1", TrialState::Failed);
  failed.spec.options.group = "study";
  failed.spec.options.fail_fast = true;
  Add(failed);
  auto request = Request("late");
  request.options->group = "study";
  EXPECT_EQ(Make(request)->state, TrialState::Pending) << "it does not ask for that";
  request.options->fail_fast = true;
  const auto made = Make(request);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->state, TrialState::Paused);
  EXPECT_THAT(made->reason, HasSubstr("t-1"));
}

TEST_F(NewTrialsTest, AnAttachedProcessGetsAFreeName) {
  TrialRecord taken = Record("t-1", TrialState::Done);
  taken.spec.run_directory = directory_ + "/first";
  Add(taken);
  const AttachRequest attach = {.nonce = "n1", .pid = 17, .request = R"({"name":"first"})"};
  absl::StatusOr<TrialRecord> made, refused;
  On([&] {
    made = new_trials_.FromAttached(attach);
    refused = new_trials_.FromAttached({.nonce = "n1", .pid = 0, .request = "{}"});
  });
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->spec.name, "first-2");
  EXPECT_EQ(made->spec.options.attached_pid, 17u);
  EXPECT_EQ(made->nonce, "n1");
  EXPECT_EQ(made->request_id, "n1");
  EXPECT_TRUE(absl::IsInvalidArgument(refused.status()));
}

}  // namespace
}  // namespace trainer
