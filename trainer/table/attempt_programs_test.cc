#include "trainer/table/attempt_programs.h"

#include <memory>
#include <string>
#include <variant>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/store/trial_record.h"
#include "trainer/testing/fake_jobs.h"
#include "trainer/testing/table_fixture.h"
#include "trainer/trial/life.h"
#include "trainer/trial/trial.h"

namespace trainer {
namespace {

using msg::TrialState;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class AttemptProgramsTest : public TableFixture {
 protected:
  AttemptProgramsTest() {
    jobs_.SetLoop(loop_.loop());
    loop_.Call([this] {
      programs_ = std::make_unique<AttemptPrograms>(AttemptPrograms::Options{
          loop_.loop(), &clock_, &jobs_, table_.get(), queue_.get(), news_.get(), intake_.get(),
          "/relay", "/bin/trainer", [this](Trial& trial, const LifeEvent& event) {
            happened_.push_back(event);
            const auto* const answer = std::get_if<event::LaunchAnswered>(&event);
            if (answer != nullptr) trial.record.job = answer->job;
          }});
    });
  }
  // The runners of the trials must be destroyed first.
  ~AttemptProgramsTest() override {
    loop_.Call([this] {
      for (auto& [number, trial] : table_->at_hand()) trial.runner.reset();
      programs_.reset();
    });
  }

  Trial& Launch(const std::string& id) {
    Trial& trial = Add(id);
    On([&] {
      trial.record.launching = true;
      programs_->Launch(trial);
    });
    return trial;
  }
  template <typename E>
  const E* Last() const {
    return happened_.empty() ? nullptr : std::get_if<E>(&happened_.back());
  }

  FakeJobs jobs_;
  std::unique_ptr<AttemptPrograms> programs_;
};

TEST_F(AttemptProgramsTest, AsksForAJobUnderTheRecordsRequestId) {
  Launch("t-1");
  ASSERT_EQ(jobs_.jobs.size(), 1u);
  EXPECT_EQ(jobs_.jobs["j-1"].request_id, "job-t-1");
  EXPECT_THAT(jobs_.jobs["j-1"].spec.argv, ElementsAre("prog"));
  EXPECT_EQ(jobs_.jobs["j-1"].spec.report_channel->socket, "/relay");
  ASSERT_FALSE(happened_.empty());
  EXPECT_EQ(std::get<event::LaunchAnswered>(happened_[0]).job, "j-1");
}

TEST_F(AttemptProgramsTest, ARefusalForTheMomentGivesTheSlotBack) {
  jobs_.refusal = absl::ResourceExhaustedError("too many jobs");
  Launch("t-1");
  ASSERT_NE(Last<event::LaunchRefused>(), nullptr);
  EXPECT_EQ(Last<event::LaunchRefused>()->words, "too many jobs");
  EXPECT_FALSE(Last<event::LaunchRefused>()->in_doubt);
  EXPECT_EQ(queue_->used(), 0u);
  jobs_.refusal = absl::UnavailableError("no launcher");
  Launch("t-2");
  ASSERT_NE(Last<event::LaunchRefused>(), nullptr);
  EXPECT_TRUE(Last<event::LaunchRefused>()->in_doubt) << "it may have started the job";
}

TEST_F(AttemptProgramsTest, ARefusalForGoodEndsTheAttempt) {
  jobs_.refusal = absl::InvalidArgumentError("no such program");
  Launch("t-1");
  ASSERT_NE(Last<event::AttemptEnded>(), nullptr);
  EXPECT_TRUE(Last<event::AttemptEnded>()->end.was_refused);
  EXPECT_EQ(Last<event::AttemptEnded>()->end.reason, "cannot start: no such program");
}

TEST_F(AttemptProgramsTest, SaysWhatAJobWaitsForAndWhenItHasThat) {
  Trial& trial = Launch("t-1");
  On([&] { jobs_.WaitFor("j-1", "waits for gpu: 1 of 1 is used by j-9"); });
  ASSERT_NE(Last<event::JobWaits>(), nullptr);
  EXPECT_THAT(Last<event::JobWaits>()->why, HasSubstr("waits for gpu"));
  On([&] { jobs_.Grant("j-1", 42); });
  ASSERT_NE(Last<event::ResourcesGranted>(), nullptr);
  EXPECT_EQ(Last<event::ResourcesGranted>()->started_us, 42);
  EXPECT_TRUE(trial.leaders.empty()) << "the launcher tells no process of it";
}

TEST_F(AttemptProgramsTest, FollowsAJobThatRunsAndTellsItsEnd) {
  Launch("t-1");
  Trial& trial = Add("t-2", TrialState::Running);
  On([&] {
    trial.record.job = "j-1";
    programs_->Follow(trial);
    jobs_.End("j-1", 3);
  });
  Advance(absl::Seconds(2));  // Waits for late reports.
  ASSERT_NE(Last<event::AttemptEnded>(), nullptr);
  EXPECT_FALSE(Last<event::AttemptEnded>()->end.success);
  EXPECT_EQ(Last<event::AttemptEnded>()->end.reason, "exit code 3");
}

TEST_F(AttemptProgramsTest, AStopGoesToTheJobWithItsTrace) {
  Trial& trial = Launch("t-1");
  trial.record.trace = "of the trial";
  On([&] { programs_->Stop(trial, {.grace = absl::Seconds(3), .why = "asked to"}); });
  trial.stop_trace = "of the call";
  On([&] { programs_->Stop(trial, {.grace = absl::Seconds(4), .why = "asked to"}); });
  EXPECT_THAT(jobs_.jobs["j-1"].stops, ElementsAre(absl::Seconds(3), absl::Seconds(4)));
  EXPECT_THAT(jobs_.jobs["j-1"].stop_traces, ElementsAre("of the trial", "of the call"));
}

TEST_F(AttemptProgramsTest, AnEndWithoutACheckpointUnderWayIsToldOnce) {
  Trial& trial = Launch("t-1");
  On([&] {
    programs_->OnEnded(trial, {.success = true, .reason = {}, .error_lines = {}});
    programs_->OnCheckpointRead(trial.record.number);
  });
  int ends = 0;
  for (const LifeEvent& event : happened_) {
    ends += std::holds_alternative<event::AttemptEnded>(event) ? 1 : 0;
  }
  EXPECT_EQ(ends, 1);
}

}  // namespace
}  // namespace trainer
