// Pauses, priorities, events, removals: orders to a live trial from outside.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bus/json/run_outcome.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/file/file.h"
#include "runtime/file/trash.h"
#include "trainer/store/trial_store.h"
#include "trainer/table/trials.h"
#include "trainer/testing/trials_fixture.h"

namespace trainer {
namespace {

using msg::TrialState;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

class TrialLifeTest : public TrialsFixture {
 protected:
  TrialLifeTest() {
    options_.keep_trials = 100;
    Start();
  }

  static msg::RunTrialRequestT WithPriority(int priority) {
    auto request = Request();
    request.options->priority = priority;
    return request;
  }
  static msg::RunTrialRequestT OfGroup() {
    auto request = Request();
    request.options->group = "g";
    request.options->fail_fast = true;
    return request;
  }
  // Runs a trial that has to wait for a slot.
  std::string RunAnother() {
    while (jobs_.jobs.size() < 2) Run();
    return Run();
  }
  absl::Status Pause(const std::string& id) {
    absl::Status status;
    On([&] { status = trials_->PauseTrial(id, "").status(); });
    return status;
  }
  absl::Status Resume(const std::string& id) {
    absl::Status status;
    On([&] { status = trials_->ResumeTrial(id).status(); });
    return status;
  }
  absl::StatusOr<std::int64_t> Tell(const std::string& id, const std::string& event,
                                    std::string request_id = "") {
    if (request_id.empty()) request_id = absl::StrCat("tell-", ++requests_);
    absl::StatusOr<std::int64_t> number;
    On([&] { number = trials_->Tell(id, event, request_id); });
    return number;
  }
  absl::StatusOr<msg::TrialT> Remove(const std::string& id, const std::string& request_id = "rm") {
    absl::StatusOr<msg::TrialT> trial;
    On([&] { trial = trials_->RemoveTrial(id, request_id); });
    return trial;
  }
  std::vector<std::string> Known() {
    std::vector<std::string> ids;
    On([&] {
      for (const msg::TrialT& trial : trials_->List({})) ids.push_back(trial.id);
    });
    return ids;
  }
  // Ends a job whose program has sent its last line.
  void EndJob(const std::string& job, int code, std::int64_t last_line) {
    SayEnd(job, last_line);
    On([&] { jobs_.End(job, code); });
  }
  std::string Say(const std::string& job, std::int64_t number, const std::string& line = kReport) {
    return TrialsFixture::Say(job, number, line);
  }
  std::string Path(const std::string& path) const { return directory_ + "/runs/" + path; }
  std::string File(const std::string& path) {
    return runtime::ReadFile(Path(path), 1 << 20).value_or("missing");
  }

  static constexpr char kReport[] = R"({"t":"report","m":{"loss":1}})";
};

TEST_F(TrialLifeTest, TheHighestPriorityStartsFirstAndEachSaysWhyItWaits) {
  Run();
  Run();
  const std::string low = Run(WithPriority(-1)), first = Run(), high = Run(WithPriority(9));
  EXPECT_EQ(Get(high).reason, "waits for a slot (2 of 2 in use)");
  EXPECT_EQ(Get(high).priority, 9);
  EXPECT_EQ(Get(first).reason, "waits for a slot (2 of 2 in use), 1 before it");
  On([&] {
    EXPECT_EQ(trials_->List({.live_only = true})[2].reason,
              "waits for a slot (2 of 2 in use), 2 before it");
  });
  Restart();
  for (const std::string& next : {high, first, low}) {
    const std::size_t job = jobs_.jobs.size();
    EndJob(absl::StrCat("j-", job), 0, 0);
    EXPECT_EQ(Get(next).state, TrialState::Running) << next;
    EXPECT_EQ(Get(next).reason, "");
  }
}

TEST_F(TrialLifeTest, OfThoseThatHaveEndedTheLastOnesAreListed) {
  const std::string first = Run(), second = Run(), third = Run(), live = Run();
  const auto listed = [this](std::size_t newest_ended) {
    std::vector<std::string> ids;
    On([&] {
      for (const auto& trial : trials_->List({.newest_ended = newest_ended})) {
        ids.push_back(trial.id);
      }
    });
    return ids;
  };
  EXPECT_THAT(listed(1), ElementsAre(first, second, third, live));
  for (const char* const job : {"j-2", "j-1"}) {
    Advance(absl::Seconds(1));
    EndJob(job, 0, 0);
  }
  EXPECT_THAT(listed(1), ElementsAre(first, third, live));
  Advance(absl::Seconds(1));
  EndJob("j-3", 0, 0);
  EXPECT_THAT(listed(2), ElementsAre(first, third, live));
  EXPECT_THAT(listed(0), ElementsAre(first, second, third, live));
  Restart();
  EXPECT_THAT(listed(2), ElementsAre(first, third, live));
}

TEST_F(TrialLifeTest, OneThatWaitsIsPausedAtOnceAndResumedAsItWas) {
  const std::string id = RunAnother();
  ASSERT_TRUE(Pause(id).ok());
  EXPECT_EQ(Get(id).state, TrialState::Paused);
  EXPECT_EQ(Get(id).reason, "it was asked to pause");
  EXPECT_TRUE(Pause(id).ok()) << "it is paused";
  Restart();
  EndJob("j-1", 0, 0);
  EXPECT_EQ(jobs_.jobs.size(), 2u) << "it does not start";
  ASSERT_TRUE(Resume(id).ok());
  EXPECT_EQ(Get(id).state, TrialState::Running);
  EXPECT_EQ(Get(id).attempt, 1u) << "no attempt was begun";
  EXPECT_EQ(Get(id).reason, "");
  EXPECT_TRUE(Resume(id).ok()) << "it runs";
}

TEST_F(TrialLifeTest, ARunningOneIsAskedWithItsNextReportAndLeavesItsSlot) {
  const std::string id = Run();
  Run();
  const std::string waiting = Run();
  Say("j-1", 1);
  ASSERT_TRUE(Pause(id).ok());
  EXPECT_EQ(Get(id).state, TrialState::Running);
  EXPECT_TRUE(Get(id).pause_requested);
  EXPECT_EQ(Resume(id).code(), absl::StatusCode::kFailedPrecondition) << "it is about to leave";
  Restart();
  EXPECT_EQ(Say("j-1", 2, R"({"t":"report","m":{},"seq":2})"),
            R"({"t":"stop","seq":2,"reason":"pause","grace_s":10})");
  EXPECT_TRUE(jobs_.jobs["j-1"].stops.empty());
  EXPECT_THAT(Say("j-1", 3), HasSubstr("pause")) << "it may save and report once more";
  EndJob("j-1", 0, 3);
  EXPECT_EQ(Get(id).state, TrialState::Paused);
  EXPECT_EQ(Get(id).reports, 3u);
  EXPECT_EQ(Get(waiting).state, TrialState::Running);
  Restart();
  EXPECT_EQ(Get(id).state, TrialState::Paused);
  ASSERT_TRUE(Resume(id).ok());
  EXPECT_EQ(Get(id).state, TrialState::Pending) << "both slots are taken";
  EXPECT_EQ(Get(id).reason, "resumed; it has no checkpoint and starts anew");
  EndJob("j-2", 0, 0);
  EXPECT_EQ(Get(id).state, TrialState::Running);
  EXPECT_EQ(Get(id).attempt, 2u);
  EXPECT_EQ(Get(id).reason, "");
  EXPECT_THAT(jobs_.jobs["j-4"].spec.environment, Contains("PATH=/bin"));
  EXPECT_THAT(Say("j-1", 4), HasSubstr("ERR")) << "that attempt is over";
  EXPECT_THAT(Say("j-4", 1), HasSubstr("ok"));
  EXPECT_EQ(Get(id).reports, 4u) << "its rows go on";
}

TEST_F(TrialLifeTest, APauseCountsAsNoFailure) {
  auto request = Request();
  request.max_restarts = 1;
  const std::string id = Run(request);
  Say("j-1", 1);
  ASSERT_TRUE(Pause(id).ok());
  EndJob("j-1", 143, 1);
  EXPECT_EQ(Get(id).state, TrialState::Paused);
  EXPECT_TRUE(Get(id).error_lines.empty());
  ASSERT_TRUE(Resume(id).ok());
  EndJob("j-2", 1, 0);
  EXPECT_EQ(Get(id).state, TrialState::Running) << "its restart is left";
  EndJob("j-3", 1, 0);
  EXPECT_EQ(Get(id).state, TrialState::Failed);
}

TEST_F(TrialLifeTest, OneThatIgnoresThePauseIsStoppedFromOutside) {
  const std::string id = Run(), silent = Run();
  Say("j-1", 1);
  ASSERT_TRUE(Pause(id).ok());
  ASSERT_TRUE(Pause(silent).ok());
  EXPECT_THAT(jobs_.jobs["j-2"].stops, ElementsAre(absl::Seconds(10)))
      << "it may not know the channel";
  Restart();
  Advance(absl::Seconds(10) - absl::Milliseconds(1));
  EXPECT_TRUE(jobs_.jobs["j-1"].stops.empty());
  Advance(absl::Milliseconds(1));
  EXPECT_THAT(jobs_.jobs["j-1"].stops, ElementsAre(absl::Seconds(10)));
}

TEST_F(TrialLifeTest, OneThatIsDoneMeanwhileIsDone) {
  const std::string id = Run();
  ASSERT_TRUE(Pause(id).ok());
  Say("j-1", 1, R"({"t":"report","m":{},"done":true})");
  EndJob("j-1", 0, 1);
  EXPECT_EQ(Get(id).state, TrialState::Done);
  EXPECT_FALSE(Get(id).pause_requested);
  EXPECT_EQ(Pause(id).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Resume(id).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(TrialLifeTest, APauseDuringALaunchReachesTheJob) {
  jobs_.answers = false;
  const std::string id = Run();
  ASSERT_TRUE(Pause(id).ok());
  EXPECT_EQ(Get(id).state, TrialState::Pending) << "the launcher may have started it";
  jobs_.answers = true;
  Restart();
  EXPECT_EQ(Get(id).state, TrialState::Running);
  EXPECT_EQ(jobs_.jobs["j-1"].stops.size(), 1u);
  EndJob("j-1", 143, 0);
  EXPECT_EQ(Get(id).state, TrialState::Paused);
}

TEST_F(TrialLifeTest, OneThatTheLauncherHasNoRoomForIsPausedAtOnce) {
  jobs_.refusal = absl::ResourceExhaustedError("full");
  const std::string id = Run();
  ASSERT_TRUE(Pause(id).ok());
  EXPECT_EQ(Get(id).state, TrialState::Paused);
  Advance(absl::Minutes(1));
  EXPECT_TRUE(jobs_.jobs.empty());
}

TEST_F(TrialLifeTest, AStopOfAPausedOneEndsIt) {
  const std::string id = RunAnother();
  ASSERT_TRUE(Pause(id).ok());
  Stop(id);
  EXPECT_EQ(Get(id).state, TrialState::Stopped);
  On([&] { EXPECT_EQ(trials_->GetStats().live, 2u); });
}

TEST_F(TrialLifeTest, AStopIsMoreThanAPause) {
  const std::string id = Run();
  Say("j-1", 1);
  ASSERT_TRUE(Pause(id).ok());
  Stop(id);
  EXPECT_EQ(Pause(id).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Say("j-1", 2), HasSubstr(R"("reason":"stop")"));
  EndJob("j-1", 0, 2);
  EXPECT_EQ(Get(id).state, TrialState::Stopped);
}

TEST_F(TrialLifeTest, AFailedOrStoppedOneGoesOnInItsDirectory) {
  const std::string failed = Run(Request("f")), stopped = Run(Request("s"));
  Say("j-1", 1);
  EndJob("j-1", 1, 1);
  Stop(stopped);
  EndJob("j-2", 143, 0);
  Advance(absl::Minutes(2));
  Restart();
  for (const auto& [id, job] : {std::pair(failed, "j-3"), std::pair(stopped, "j-4")}) {
    ASSERT_TRUE(Resume(id).ok());
    EXPECT_EQ(Get(id).state, TrialState::Running);
    EXPECT_EQ(Get(id).ended_us, 0);
    EXPECT_FALSE(Get(id).stop_requested);
    EXPECT_TRUE(Get(id).error_lines.empty());
    EXPECT_THAT(jobs_.jobs[job].spec.environment,
                AllOf(Contains("PATH=/bin"), Contains("YARD_ATTEMPT=2")));
    EXPECT_THAT(Say(job, 1), HasSubstr("ok"));
  }
  On([&] { EXPECT_EQ(trials_->GetStats().live, 2u); });
  EXPECT_EQ(Get(failed).reports, 2u);
  EXPECT_THAT(File("f/result.json"), HasSubstr(R"("training_iteration":1)"));
  EndJob("j-3", 0, 1);
  EXPECT_EQ(Get(failed).state, TrialState::Done);
}

TEST_F(TrialLifeTest, ItsDirectorySaysHowItHasEnded) {
  const auto outcome = [this](const std::string& run) {
    return bus::ParseRunOutcome(File(run + "/outcome.json"));
  };
  const std::string done = Run(Request("done")), failed = Run(Request("failed"));
  EXPECT_EQ(File("done/outcome.json"), "missing");
  EndJob("j-1", 0, 0);
  EndJob("j-2", 3, 0);
  ASSERT_TRUE(outcome("done").ok()) << outcome("done").status();
  EXPECT_EQ(*outcome("done"), (bus::RunOutcome{.state = "done", .ended_us = Get(done).ended_us}));
  EXPECT_EQ(*outcome("failed"),
            (bus::RunOutcome{
                .state = "failed", .reason = "exit code 3", .ended_us = Get(failed).ended_us}));
  // This trial is paused, and stopped while it is paused.
  const std::string rests = Run(Request("rests"));
  ASSERT_TRUE(Pause(rests).ok());
  EndJob("j-3", 0, 0);
  EXPECT_EQ(Get(rests).state, TrialState::Paused);
  EXPECT_EQ(File("rests/outcome.json"), "missing");
  On([&] { ASSERT_TRUE(trials_->Stop(rests, absl::ZeroDuration(), "").ok()); });
  ASSERT_TRUE(outcome("rests").ok()) << outcome("rests").status();
  EXPECT_EQ(outcome("rests")->state, "stopped");
  // A resumed trial has no outcome file.
  ASSERT_TRUE(Resume(rests).ok());
  EXPECT_EQ(File("rests/outcome.json"), "missing");
}

TEST_F(TrialLifeTest, ATrainerThatWasKilledBeforeItWroteHowOneEndedDoesSoAtItsNextStart) {
  const std::string ended = Run(Request("ended")), live = Run(Request("live"));
  EndJob("j-1", 0, 0);
  const std::string text = File("ended/outcome.json");
  Kill();
  std::filesystem::remove(Path("ended/outcome.json"));
  ASSERT_TRUE(runtime::WriteFileAtomically(Path("live/outcome.json"), text, 0644).ok());
  Start();
  On([&] { trials_->Resume(); });
  EXPECT_EQ(File("ended/outcome.json"), text);
  EXPECT_EQ(File("live/outcome.json"), "missing");
}

TEST_F(TrialLifeTest, FailFastPausesTheOthersOfTheGroup) {
  const std::string failing = Run(OfGroup()), running = Run(OfGroup()), waiting = Run(OfGroup());
  const std::string stranger = Run();
  Say("j-2", 1);
  EndJob("j-1", 1, 0);
  EXPECT_EQ(Get(failing).state, TrialState::Failed);
  const std::string why = absl::StrCat("paused: ", failing, " of its group has failed");
  EXPECT_EQ(Get(waiting).state, TrialState::Paused);
  EXPECT_EQ(Get(waiting).reason, why);
  EXPECT_TRUE(Get(running).pause_requested);
  EXPECT_EQ(Get(stranger).state, TrialState::Running) << "it has the slot";
  const std::string late = Run(OfGroup());
  EXPECT_EQ(Get(late).state, TrialState::Paused);
  EXPECT_EQ(Get(late).reason, why);
  Restart();
  EXPECT_THAT(Say("j-2", 2), HasSubstr(R"("reason":"pause")"));
  EndJob("j-2", 0, 2);
  EXPECT_EQ(Get(running).state, TrialState::Paused);
  EXPECT_EQ(Get(running).reason, why);
  ASSERT_TRUE(Resume(waiting).ok());
  EXPECT_EQ(Get(waiting).state, TrialState::Running);
}

TEST_F(TrialLifeTest, AFailureThatIsTriedAgainPausesNobody) {
  auto request = OfGroup();
  request.max_restarts = 1;
  Run(request);
  const std::string other = Run(OfGroup());
  EndJob("j-1", 1, 0);
  EXPECT_FALSE(Get(other).pause_requested);
}

TEST_F(TrialLifeTest, EventsAreReadWithTheNextReportInOrderAndOnce) {
  const std::string id = Run();
  EXPECT_EQ(*Tell(id, R"({"lr": 0.10})"), 1);
  EXPECT_EQ(*Tell(id, "\"b\""), 2);
  EXPECT_EQ(Say("j-1", 1, R"({"t":"hb"})"), "");
  const std::string answer = Say("j-1", 2);
  EXPECT_EQ(answer, R"({"t":"ok","events":[{"lr":0.10},"b"]})");
  EXPECT_THAT(Say("j-1", 3), HasSubstr(R"("events":[])"));
  EXPECT_EQ(*Tell(id, "3"), 3);
  Restart();
  EXPECT_EQ(Say("j-1", 2), answer) << "a line that is sent again";
  EXPECT_THAT(Say("j-1", 4), HasSubstr(R"("events":[3])"));
  Restart();
  EXPECT_THAT(Say("j-1", 5), HasSubstr(R"("events":[])"));
}

TEST_F(TrialLifeTest, WhatIsToldTwiceIsOneEvent) {
  const std::string id = Run();
  EXPECT_EQ(*Tell(id, "1", "same"), 1);
  EXPECT_EQ(*Tell(id, "1", "same"), 1);
  EXPECT_THAT(Say("j-1", 1), HasSubstr(R"("events":[1])"));
  Restart();
  EXPECT_EQ(*Tell(id, "1", "same"), 1) << "also when it was read";
  EXPECT_THAT(Say("j-1", 2), HasSubstr(R"("events":[])"));
}

TEST_F(TrialLifeTest, AStopTakesNoEvents) {
  const std::string id = Run();
  Say("j-1", 1);
  Tell(id, "1").value();
  ASSERT_TRUE(Pause(id).ok());
  EXPECT_THAT(Say("j-1", 2), HasSubstr("pause"));
  EndJob("j-1", 0, 2);
  EXPECT_EQ(*Tell(id, "2"), 2) << "it can go on";
  ASSERT_TRUE(Resume(id).ok());
  EXPECT_THAT(Say("j-2", 1), HasSubstr(R"("events":[1,2])"));
}

TEST_F(TrialLifeTest, EventsThatAreNoneAreRefused) {
  const std::string id = Run();
  for (const char* text : {"", "{", "nonsense", "NaN", R"({"a":[-Infinity]})", "1 2"}) {
    EXPECT_EQ(Tell(id, text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
  const std::string longest = "\"" + std::string(65534, 'x') + "\"";
  EXPECT_TRUE(Tell(id, longest).ok());
  EXPECT_EQ(Tell(id, longest + " ").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(Tell(id, "1e400").ok()) << "a number, if a large one";
  EndJob("j-1", 0, 0);
  EXPECT_EQ(Tell(id, "1").status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(TrialLifeTest, EventsThatWaitAreLimitedAndSoIsAnAnswer) {
  const std::string id = Run();
  const std::string large = "\"" + std::string(60000, 'x') + "\"";
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(Tell(id, large).ok());
  On([&] {
    for (int i = 6; i < 1000; ++i) {
      ASSERT_TRUE(trials_->Tell(id, "1", absl::StrCat("many-", i)).ok());
    }
  });
  EXPECT_EQ(Tell(id, "1").status().code(), absl::StatusCode::kResourceExhausted);
  const std::string first = Say("j-1", 1), second = Say("j-1", 2);
  EXPECT_LT(first.size(), 260000u);
  EXPECT_GT(first.size(), 200000u);
  EXPECT_GT(second.size(), 120000u);
  EXPECT_THAT(Say("j-1", 3), HasSubstr(R"("events":[])"));
  EXPECT_TRUE(Tell(id, "1").ok());
}

TEST_F(TrialLifeTest, ARemovedOneIsForgottenAndItsDirectoryIsInTheTrash) {
  const std::string id = Run(Request("r"));
  Say("j-1", 1);
  EXPECT_EQ(Remove(id).status().code(), absl::StatusCode::kFailedPrecondition);
  EndJob("j-1", 0, 1);
  EXPECT_EQ(Remove("r")->id, id);
  EXPECT_THAT(Known(), ElementsAre());
  EXPECT_THAT(File(absl::StrCat(".trash/", id, "/result.json")), HasSubstr("loss"));
  EXPECT_FALSE(std::filesystem::exists(Path("r")));
  EXPECT_EQ(Remove("r")->id, id) << "the same request again";
  EXPECT_EQ(Remove("r", "other").status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Say("j-1", 2), HasSubstr("ERR"));
  EXPECT_NE(Run(Request("r")), id) << "the name is free";
  Restart();
  EXPECT_EQ(Remove("r")->id, id);
  EXPECT_EQ(Known().size(), 1u);
}

TEST_F(TrialLifeTest, ARemovalSaysWhereTheDirectoryIsThen) {
  const std::string id = Run(Request("r"));
  EndJob("j-1", 0, 0);
  ASSERT_TRUE(runtime::MakeDirectories(Path(".trash/" + id)).ok());
  EXPECT_EQ(Remove("r")->log_directory, Path(absl::StrCat(".trash/", id, ".2")));
  Restart();
  EXPECT_EQ(Remove("r")->log_directory, Path(absl::StrCat(".trash/", id, ".2")))
      << "the same request again";
  EXPECT_TRUE(std::filesystem::exists(Path(absl::StrCat(".trash/", id, ".2/params.json"))));
}

TEST_F(TrialLifeTest, ARemovalThatWasCutShortIsFinishedByTheNextTrainer) {
  const std::string before = Run(Request("before")), after = Run(Request("after"));
  EndJob("j-1", 0, 0);
  EndJob("j-2", 0, 0);
  // Simulates kills after the first and after the second of the removal's three steps.
  On([&] {
    ASSERT_TRUE(store_->Remove({1, before, "before", "rm-1", Path("before")}).ok());
    ASSERT_TRUE(store_->Remove({2, after, "after", "rm-2", Path("after")}).ok());
    ASSERT_TRUE(
        runtime::MoveToTrash(directory_ + "/runs", Path("after"), after, clock_.Now()).ok());
  });
  Restart();
  for (const std::string& id : {before, after}) {
    EXPECT_TRUE(std::filesystem::exists(Path(".trash/" + id + "/params.json"))) << id;
  }
  EXPECT_FALSE(std::filesystem::exists(Path("before")));
  On([&] { EXPECT_TRUE(store_->UnfinishedRemovals()->empty()); });
}

TEST_F(TrialLifeTest, AnUnfinishedRemovalLeavesTheNextTrialOfThatNameAlone) {
  const std::string id = Run(Request("r"));
  On([&] { ASSERT_TRUE(store_->Remove({77, "t-older", "r", "rm", Path("r")}).ok()); });
  Restart();
  EXPECT_TRUE(std::filesystem::exists(Path("r/params.json")));
  EXPECT_EQ(Get(id).state, TrialState::Running);
}

TEST_F(TrialLifeTest, TheOldestEndedOnesAreForgottenButNotTheirDirectories) {
  options_.keep_trials = 2;
  Restart();
  const std::string live = Run();
  std::vector<std::string> ended;
  for (int i = 2; i <= 5; ++i) {
    ended.push_back(Run());
    EndJob(absl::StrCat("j-", i), 0, 0);
  }
  EXPECT_THAT(Known(), ElementsAre(live, ended[2], ended[3]));
  EXPECT_TRUE(std::filesystem::exists(Path(ended[0] + "/params.json")));
  options_.keep_trials = 1;
  Restart();
  EXPECT_THAT(Known(), ElementsAre(live, ended[3]));
  On([&] { EXPECT_EQ(trials_->GetStats().trials, 2u); });
}

TEST_F(TrialLifeTest, NoReaderOfItsTableTakesTheExperimentIdForANumber) {
  for (int i = 1; i <= 20; ++i) {
    Run();
    On([&] {
      const auto trial = store_->LoadTrial(i);
      ASSERT_TRUE(trial.ok()) << trial.status();
      EXPECT_THAT(trial->run.experiment_id, MatchesRegex("[a-f][0-9a-f]*"));
    });
  }
}

TEST_F(TrialLifeTest, WhereItComesFromIsInItsDirectory) {
  auto request = Request("p");
  request.options->labels = {"sweep=1", "fast"};
  request.options->provenance = R"({"git":{"commit":"abc"},"argv":["prog"]})";
  request.options->provenance_diff = "--- a\n+++ b\n";
  const std::string id = Run(request);
  EXPECT_THAT(Get(id).labels, ElementsAre("sweep=1", "fast"));
  EXPECT_EQ(File("p/provenance.json"),
            absl::StrCat("{\n  \"argv\": [\n    \"prog\"\n  ],\n  \"git\": {\n    \"commit\": "
                         "\"abc\"\n  },\n  \"labels\": [\n    \"sweep=1\",\n    \"fast\"\n  ],\n  "
                         "\"trial\": \"",
                         id, "\"\n}\n"));
  EXPECT_EQ(File("p/uncommitted.diff"), "--- a\n+++ b\n");
  On([&] {
    trials_->Details(id, [](const absl::StatusOr<msg::TrialDetailsReplyT>& details) {
      ASSERT_TRUE(details.ok()) << details.status();
      EXPECT_EQ(details->options->provenance_diff, "--- a\n+++ b\n");
    });
  });
  EndJob("j-1", 1, 0);
  Restart();
  ASSERT_TRUE(Resume(id).ok());
  EXPECT_EQ(File("p/uncommitted.diff"), "--- a\n+++ b\n");
}

TEST_F(TrialLifeTest, WhatItIsHereIsInItsDirectoryWhateverItsCallerSays) {
  const std::string bare = Run(Request("bare"));
  EXPECT_EQ(File("bare/provenance.json"),
            absl::StrCat("{\n  \"labels\": [],\n  \"trial\": \"", bare, "\"\n}\n"));
  auto request = Request("p");
  request.options->labels = {"say \"hi\""};
  request.options->group = "a\\b";
  request.options->provenance = R"({"labels":7,"trial":{"id":1},"group":[],"host":"h"})";
  const std::string id = Run(request);
  EXPECT_EQ(File("p/provenance.json"),
            absl::StrCat("{\n  \"group\": \"a\\\\b\",\n  \"host\": \"h\",\n  \"labels\": [\n    "
                         "\"say \\\"hi\\\"\"\n  ],\n  \"trial\": \"",
                         id, "\"\n}\n"));
}

TEST_F(TrialLifeTest, WrongLabelsAndProvenanceAreRefused) {
  const auto expect_refusal = [&](const std::function<void(msg::TrialOptionsT&)>& spoil,
                                  const std::string& words) {
    auto request = Request();
    spoil(*request.options);
    const auto status = TryRun(request).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << words;
    EXPECT_THAT(std::string(status.message()), HasSubstr(words));
  };
  expect_refusal([](auto& options) { options.labels = {""}; }, "it is empty");
  expect_refusal([](auto& options) { options.labels = {"a", "a"}; }, "twice");
  expect_refusal([](auto& options) { options.labels = {"a\nb"}; }, "control character");
  expect_refusal([](auto& options) { options.labels = {"\xFF"}; }, "UTF-8");
  expect_refusal([](auto& options) { options.labels.assign(65, "x"); }, "65 labels");
  expect_refusal([](auto& options) { options.provenance = "[1]"; }, "JSON object");
  expect_refusal([](auto& options) { options.provenance = "{"; }, "provenance: ");
  expect_refusal([](auto& options) { options.provenance_diff.assign((512 << 10) + 1, 'x'); },
                 "provenance_diff");
  expect_refusal([](auto& options) { options.fail_fast = true; }, "needs a group");
}

}  // namespace
}  // namespace trainer
