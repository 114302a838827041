#include "trainer/table/trials.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bus/call/reply_stream.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/file/file.h"
#include "trainer/follow_call.h"
#include "trainer/run/failure_text.h"
#include "trainer/testing/trials_fixture.h"

namespace trainer {
namespace {

using msg::TrialState;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Records what a follower receives; can pretend to be full.
class FakeWriter : public bus::ReplyStream<msg::FollowTrialReplyT> {
 public:
  absl::Status SendPart(msg::FollowTrialReplyT part) override {
    if (full) return absl::ResourceExhaustedError("full");
    for (const auto& row : part.rows) rows.push_back(row->row);
    states.push_back(part.trial->state);
    reasons.push_back(part.trial->reason);
    return absl::OkStatus();
  }
  void WhenWritable(std::function<void()> fn) override { writable = std::move(fn); }
  void Finish(absl::StatusOr<msg::FollowTrialReplyT> reply) override {
    final = reply->trial->state;
  }
  bool cancelled() const override { return false; }
  void OnCancel(std::function<void()> fn) override { on_cancel = std::move(fn); }

  bool full = false;
  std::vector<std::uint64_t> rows;
  std::vector<TrialState> states;
  std::vector<std::string> reasons;
  std::optional<TrialState> final;
  std::function<void()> writable, on_cancel;
};

class TrialsTest : public TrialsFixture {
 protected:
  TrialsTest() {
    options_.on_event = [this](msg::TrialEventT event) { events_.push_back(std::move(event)); };
    Start();
  }
  ~TrialsTest() override { Kill(); }

  static msg::RunTrialRequestT Request(const std::string& name = "") {
    msg::RunTrialRequestT request;
    request.name = name;
    request.argv = {"prog", "--x"};
    request.environment = {"PATH=/bin", "YARD_SEED=old"};
    request.working_directory = "/";
    request.config = R"({"lr": 0.1})";
    request.seed = 7;
    return request;
  }
  void EndJob(const std::string& job, int code, const std::string& stderr_path = "") {
    On([&] { jobs_.End(job, code, stderr_path); });
  }
  // Ends its job with an error and without a report.
  void FailAttempt(int attempt, std::string job = "") {
    if (job.empty()) job = absl::StrCat("j-", attempt);
    SayEnd(job, 0);
    EndJob(job, 1);
  }
  std::string Run(const msg::RunTrialRequestT& request = Request()) {
    return TrialsFixture::Run(request);
  }
  std::vector<std::string> Send(const std::string& job, std::vector<RelayedLine> lines) {
    std::vector<std::string> answers;
    for (const auto& answer : Relay(job, std::move(lines))) answers.push_back(TextOf(answer));
    return answers;
  }
  static std::string Report(double loss) {
    return absl::StrCat(R"({"t":"report","m":{"loss":)", loss, "}}");
  }
  std::string File(const std::string& path) {
    return runtime::ReadFile(directory_ + "/runs/" + path, 1 << 20).value_or("missing");
  }

  std::vector<msg::TrialEventT> events_;
};

TEST_F(TrialsTest, ATrialRunsReportsAndIsDone) {
  const std::string id = Run(Request("first"));
  EXPECT_EQ(Get(id).state, TrialState::Running);
  EXPECT_EQ(Get(id).job, "j-1");
  EXPECT_THAT(Say("j-1", 1, R"({"t":"hello","v":1})"), HasSubstr(R"("config":{"lr":0.1})"));
  EXPECT_EQ(Say("j-1", 2, R"({"t":"hb"})"), "");
  EXPECT_EQ(Say("j-1", 3, Report(0.5)), R"({"t":"ok","events":[]})");
  EXPECT_EQ(SayEnd("j-1", 3), "");
  EndJob("j-1", 0);
  const msg::TrialT trial = Get(id);
  EXPECT_EQ(trial.state, TrialState::Done);
  EXPECT_EQ(trial.reports, 1u);
  EXPECT_EQ(trial.last_metrics, R"({"loss":0.5})");
  EXPECT_EQ(trial.reason, "");
  EXPECT_THAT(File("first/result.json"), HasSubstr(R"({"loss":0.5,)"));
  EXPECT_EQ(File("first/params.json"), "{\n  \"lr\": 0.1\n}\n");
}

TEST_F(TrialsTest, TheJobKnowsItsTrial) {
  const std::string id = Run(Request("n"));
  const msg::JobSpecT& spec = jobs_.jobs["j-1"].spec;
  const std::string run = directory_ + "/runs/n";
  EXPECT_THAT(spec.environment,
              ElementsAre("PATH=/bin", "YARD_TRIAL_ID=" + id, "YARD_TRIAL_NAME=n",
                          "YARD_LOGDIR=" + run, "YARD_CONFIG=" + run + "/params.json",
                          "YARD_CHECKPOINT=", "YARD_ITERATION=0", "YARD_SEED=7", "YARD_ATTEMPT=1"));
  EXPECT_EQ(spec.argv, (std::vector<std::string>{"prog", "--x"}));
  EXPECT_EQ(spec.log_directory, run);
  EXPECT_EQ(spec.restart, msg::RestartPolicy::Never);
  EXPECT_EQ(spec.report_channel->socket, "/relay");
  EXPECT_EQ(spec.report_channel->nonce.size(), 32u);
}

TEST_F(TrialsTest, TheSameRequestIsTheSameTrialAlsoAfterARestart) {
  const std::string id = TryRun(Request("a"), "r")->id;
  EXPECT_EQ(TryRun(Request("a"), "r")->id, id);
  Restart();
  EXPECT_EQ(TryRun(Request("a"), "r")->id, id);
  EXPECT_EQ(jobs_.jobs.size(), 1u);
}

// The whole trial is only in the store, but no caller can tell.
TEST_F(TrialsTest, AnEndedTrialThatWasPutAsideIsWhatItWas) {
  for (const std::size_t size : {1u, 2000u}) {  // The message of the large one is not kept.
    const std::string name = absl::StrCat("n", size);
    const std::string id = TryRun(Request(name), "request of " + name)->id;
    const std::string job = Get(id).job;
    const std::string metrics = absl::StrCat(R"({"loss":0.5,"x":")", std::string(size, 'x'), "\"}");
    Say(job, 1, absl::StrCat(R"({"t":"report","m":)", metrics, "}"));
    SayEnd(job, 1);
    EndJob(job, 1);
    for (const bool restarted : {false, true}) {
      Advance(absl::Seconds(1));
      if (restarted) Restart();
      const msg::TrialT trial = Get(id);
      EXPECT_EQ(trial.state, TrialState::Failed);
      EXPECT_EQ(trial.reason, "exit code 1");
      EXPECT_EQ(trial.reports, 1u);
      EXPECT_EQ(trial.last_metrics, metrics);
      EXPECT_EQ(trial.argv, Request().argv);
      EXPECT_EQ(trial.job, job);
      EXPECT_EQ(TryRun(Request(name), "request of " + name)->id, id) << "it is known";
      EXPECT_EQ(TryRun(Request(name), "another").status().code(), absl::StatusCode::kAlreadyExists);
      On([&] {
        EXPECT_EQ(*trials_->Find(name), id);
        EXPECT_EQ(*trials_->Find(id), id);
        EXPECT_EQ(trials_->Extents().at(id).reports, 1);
        EXPECT_EQ(trials_->RowsAfter(id, 0)->size(), 1u);
        const auto all = trials_->List({});
        EXPECT_EQ(std::count_if(all.begin(), all.end(), [&](const auto& t) { return t.id == id; }),
                  1);
        EXPECT_TRUE(trials_->List({.live_only = true}).empty());
      });
    }
  }
}

TEST_F(TrialsTest, AnEndedTrialThatWasPutAsideTakesLateReportsForAMinute) {
  const std::string id = Run(Request("n"));
  Say("j-1", 1, Report(1));
  SayEnd("j-1", 1);
  EndJob("j-1", 0);
  Advance(absl::Seconds(5));
  EXPECT_THAT(Say("j-1", 2, Report(2)), HasSubstr("ok"));
  EXPECT_EQ(Get(id).reports, 2u);
  EXPECT_THAT(File("n/result.json"), HasSubstr(R"({"loss":2,)"));
  Advance(absl::Seconds(5));
  EXPECT_EQ(Get(id).reports, 2u);
  EXPECT_THAT(Say("j-1", 2, Report(2)), HasSubstr("ok")) << "the same again";
  EXPECT_EQ(Get(id).reports, 2u);
  for (int i = 0; i < 8; ++i) Advance(absl::Seconds(10));
  EXPECT_THAT(Say("j-1", 3, Report(3)), HasSubstr("ERR"));
}

// A passing error of the disk must not lose the program's last report.
TEST_F(TrialsTest, WhatIsSaidToOneThatCannotBeReadNowComesAgain) {
  const std::string id = Run(Request("n"));
  Say("j-1", 1, Report(1));
  SayEnd("j-1", 1);
  EndJob("j-1", 0);
  for (int i = 0; i < 3; ++i) Advance(absl::Seconds(1));
  std::vector<AttemptKey> wanted;
  On([&] { trials_->OnWanted([&](const AttemptKey& attempt) { wanted.push_back(attempt); }); });
  SQLite::Database other(directory_ + "/trainer.db", SQLite::OPEN_READWRITE);
  other.exec("ALTER TABLE trials RENAME TO hidden");
  On([&] {
    const AttemptKey key = *trials_->Greet(jobs_.jobs["j-1"].spec.report_channel->nonce);
    const auto answers = trials_->Receive({{key, 2, Report(2), false}, {key, 3, Report(3), false}});
    ASSERT_EQ(answers.size(), 2u);
    EXPECT_EQ(answers[0].status().code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(std::string(answers[0].status().message()),
                HasSubstr(absl::StrCat("cannot read trial ", id, ": ")));
    EXPECT_EQ(answers[1].status().code(), absl::StatusCode::kUnavailable);
    EXPECT_EQ(trials_->Stop(id, absl::ZeroDuration(), "").status().code(),
              absl::StatusCode::kUnavailable);
  });
  Advance(absl::Seconds(1));
  EXPECT_EQ(wanted.size(), 1u) << "the relay brings it again then";
  other.exec("ALTER TABLE hidden RENAME TO trials");
  EXPECT_THAT(
      Send("j-1", {{AttemptKey(), 2, Report(2), false}, {AttemptKey(), 3, Report(3), false}}),
      ElementsAre(HasSubstr("ok"), HasSubstr("ok")));
  EXPECT_EQ(Get(id).reports, 3u);
}

TEST_F(TrialsTest, OneThatWasPutAsideGoesOn) {
  const std::string id = Run(Request("n"));
  Say("j-1", 1, Report(1));
  SayEnd("j-1", 1);
  EndJob("j-1", 1);
  Advance(absl::Minutes(5));
  On([&] { EXPECT_TRUE(trials_->ResumeTrial(id).ok()); });
  const std::string job = Get(id).job;
  EXPECT_EQ(job, "j-2");
  for (int i = 0; i < 8; ++i) Advance(absl::Seconds(10));
  EXPECT_THAT(Say(job, 1, Report(2)), HasSubstr("ok"));
  EXPECT_EQ(Get(id).reports, 2u);
  EXPECT_EQ(Get(id).state, TrialState::Running);
}

TEST_F(TrialsTest, OneThatWasStoppedBeforeItStartedIsHeardWhenItGoesOn) {
  Run();
  Run();
  const std::string id = Run(Request("n"));
  Stop(id);
  On([&] { EXPECT_TRUE(trials_->ResumeTrial(id).ok()); });
  for (int i = 0; i < 8; ++i) Advance(absl::Seconds(10));
  SayEnd("j-1", 0);
  EndJob("j-1", 0);
  EXPECT_THAT(Say("j-3", 1, Report(1)), HasSubstr("ok"));
}

TEST_F(TrialsTest, RefusesWhatCannotRun) {
  const auto code = [&](const msg::RunTrialRequestT& request) {
    return TryRun(request, absl::StrCat("bad-", ++requests_)).status().code();
  };
  for (const char* name : {"a/b", "..", ".hidden", "a\nb", "-rf"}) {
    EXPECT_EQ(code(Request(name)), absl::StatusCode::kInvalidArgument) << name;
  }
  msg::RunTrialRequestT request = Request();
  request.argv.clear();
  EXPECT_EQ(code(request), absl::StatusCode::kInvalidArgument);
  request = Request();
  request.config = "[1]";
  EXPECT_EQ(code(request), absl::StatusCode::kInvalidArgument);
  request = Request();
  request.logdir = "relative";
  EXPECT_EQ(code(request), absl::StatusCode::kInvalidArgument);
}

TEST_F(TrialsTest, ANameIsUsedOnce) {
  const std::string id = Run(Request("a"));
  auto second = TryRun(Request("a"), "again");
  EXPECT_EQ(second.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr(id));
  EndJob("j-1", 0);
  ASSERT_TRUE(runtime::MakeDirectories(directory_ + "/runs/b").ok());
  ASSERT_TRUE(runtime::WriteFileAtomically(directory_ + "/runs/b/result.json", "", 0644).ok());
  EXPECT_EQ(TryRun(Request("b"), "b").status().code(), absl::StatusCode::kAlreadyExists);
}

TEST_F(TrialsTest, NoMoreThanItsSlotsRunAtOnceInOrder) {
  const std::vector<std::string> ids = {Run(), Run(), Run(), Run()};
  EXPECT_EQ(jobs_.jobs.size(), 2u);
  EXPECT_EQ(Get(ids[2]).state, TrialState::Pending);
  EndJob("j-2", 0);
  clock_.Advance(absl::Seconds(2));
  loop_->Settle();
  EXPECT_EQ(Get(ids[2]).state, TrialState::Running);
  EXPECT_EQ(Get(ids[3]).state, TrialState::Pending);
}

TEST_F(TrialsTest, WaitsForTheLastReportsButNotForEver) {
  const std::string id = Run();
  EndJob("j-1", 0);
  EXPECT_EQ(Get(id).state, TrialState::Running);
  EXPECT_THAT(Say("j-1", 1, Report(1)), HasSubstr("ok"));
  clock_.Advance(absl::Seconds(2));
  EXPECT_EQ(Get(id).state, TrialState::Done);
  EXPECT_EQ(Get(id).reports, 1u);
  EXPECT_THAT(Say("j-1", 2, Report(2)), HasSubstr("ok")) << "a late report still counts";
  EXPECT_EQ(Get(id).reports, 2u);
}

TEST_F(TrialsTest, DoesNotWaitForReportsOfAKilledShim) {
  const std::string id = Run();
  Say("j-1", 1, Report(1));
  On([&] { jobs_.KillShim("j-1"); });
  EXPECT_EQ(Get(id).state, TrialState::Failed);
  EXPECT_EQ(Get(id).reason, "killed");
}

TEST_F(TrialsTest, SaysWhyOneFailed) {
  const std::string path = directory_ + "/stderr";
  ASSERT_TRUE(runtime::WriteFileAtomically(path, "one\ntwo\xFF\nthree", 0644).ok());
  const std::string id = Run();
  SayEnd("j-1", 0);
  EndJob("j-1", 3, path);
  EXPECT_EQ(Get(id).state, TrialState::Failed);
  EXPECT_EQ(Get(id).reason, "exit code 3");
  EXPECT_THAT(Get(id).error_lines, ElementsAre("one", "two\xEF\xBF\xBD", "three"));
}

TEST_F(TrialsTest, AFailLineIsTheReason) {
  const std::string first = Run(), second = Run();
  EXPECT_EQ(Say("j-1", 1, R"({"t":"fail","error":"no data"})"), "");
  EXPECT_EQ(Say("j-2", 1, R"({"t":"fail","error":"no disk"})"), "");
  Restart();
  SayEnd("j-1", 1);
  SayEnd("j-2", 1);
  EndJob("j-1", 1);
  EndJob("j-2", 0);
  EXPECT_EQ(Get(first).reason, "no data (exit code 1)");
  EXPECT_EQ(Get(second).reason, "no disk");
  EXPECT_EQ(Get(second).state, TrialState::Failed);
}

TEST_F(TrialsTest, OneThatFailedWithoutAnErrorCodeHasTheLastLinesOfItsStandardErrorToo) {
  const std::string path = directory_ + "/stderr";
  ASSERT_TRUE(runtime::WriteFileAtomically(path, "one\ntwo\n", 0644).ok());
  const std::string id = Run();
  Say("j-1", 1, R"({"t":"fail","error":"no data"})");
  SayEnd("j-1", 1);
  EndJob("j-1", 0, path);
  EXPECT_EQ(Get(id).reason, "no data");
  EXPECT_THAT(Get(id).error_lines, ElementsAre("one", "two"));
}

// All attempts write to one file.
TEST_F(TrialsTest, ALaterAttemptHasTheLastLinesOfItsOwn) {
  msg::RunTrialRequestT request = Request("r");
  request.max_restarts = 2;
  request.options = std::make_unique<msg::TrialOptionsT>();
  request.options->heartbeat_ms = 1'000;
  const std::string id = Run(request);
  const std::string path = directory_ + "/runs/r/worker-0.1.stderr";
  std::ofstream(path) << "one\n";
  for (const std::string job : {"j-1", "j-2"}) {
    Advance(absl::Seconds(1));
    ASSERT_EQ(jobs_.jobs[job].stops.size(), 1u) << "it is silent";
    if (job == "j-2") std::ofstream(path, std::ios::app) << "two\n";
    SayEnd(job, 0);
    EndJob(job, 1, path);
  }
  const std::string failures = File("r/error.txt");
  EXPECT_THAT(failures, HasSubstr("attempt 1: no sign of life for 1s\none\nFailure # 2"));
  EXPECT_THAT(failures, ::testing::EndsWith("attempt 2: no sign of life for 1s\ntwo\n"));
  // The error lines of an attempt that another trainer launched are unknown, and no other attempt's
  // lines are shown instead.
  Advance(absl::Seconds(1));
  ASSERT_EQ(jobs_.jobs.count("j-3"), 1u);
  Restart();
  SayEnd("j-3", 0);
  EndJob("j-3", 1, path);
  EXPECT_EQ(Get(id).state, TrialState::Failed);
  EXPECT_THAT(Get(id).error_lines, ::testing::IsEmpty());
}

TEST_F(TrialsTest, AnAttemptThatTakesTooLongHasFailed) {
  msg::RunTrialRequestT request = Request("r");
  request.max_restarts = 1;
  request.options = std::make_unique<msg::TrialOptionsT>();
  request.options->max_run_time_ms = 5'000;
  const std::string id = Run(request);
  EXPECT_EQ(jobs_.jobs["j-1"].spec.max_run_time_ms, 5'000u);
  const std::string path = directory_ + "/runs/r/worker-0.1.stderr";
  std::ofstream(path) << "loading\n";
  msg::JobT job;  // As the launcher reports it.
  job.state = msg::TaskState::Failed;
  job.reason = "its time of 5s is over";
  job.failure = std::make_unique<msg::FailureT>();
  job.failure->reason = job.reason;
  job.tasks.push_back(std::make_unique<msg::TaskT>());
  job.tasks.back()->state = msg::TaskState::Exited;
  job.tasks.back()->stderr_path = path;
  job.tasks.back()->attempts.push_back(std::make_unique<msg::AttemptT>());
  job.tasks.back()->attempts.back()->signal = 15;
  SayEnd("j-1", 0);
  On([&] { jobs_.EndAs("j-1", std::move(job)); });
  EXPECT_THAT(File("r/error.txt"), HasSubstr("attempt 1: its time of 5s is over\nloading\n"));
  EXPECT_EQ(jobs_.jobs["j-2"].spec.max_run_time_ms, 5'000u) << "each attempt has its own";
  EXPECT_EQ(Get(id).attempt, 2u);
}

// Ray's testErrorHandling: the next trial runs.
TEST_F(TrialsTest, ALaunchThatIsRefusedFailsThatTrialAlone) {
  jobs_.refusal = absl::NotFoundError("no program prog on PATH");
  jobs_.holds_refusals = true;
  const std::string id = Run(Request("n")), next = Run();
  jobs_.refusal = absl::OkStatus();
  EXPECT_EQ(Get(next).state, TrialState::Pending) << "one is launched at a time";
  On([&] { jobs_.Refuse(); });
  EXPECT_EQ(Get(id).state, TrialState::Failed);
  EXPECT_THAT(Get(id).reason, HasSubstr("no program prog"));
  EXPECT_THAT(File("n/error.txt"), HasSubstr("no program prog"));
  EXPECT_EQ(Get(next).state, TrialState::Running);
}

TEST_F(TrialsTest, WhileTheLauncherHasNoRoomTrialsWaitInTheirOrderAndSayWhy) {
  jobs_.refusal = absl::ResourceExhaustedError("there are 5 jobs already");
  const std::string first = Run(), second = Run();
  for (const int pause_ms : {200, 400, 800, 1600, 3200, 5000, 5000}) {
    EXPECT_EQ(Get(first).state, TrialState::Pending);
    EXPECT_EQ(Get(first).reason, "the launcher cannot start it yet: there are 5 jobs already");
    const int launches = jobs_.launches;
    Advance(absl::Milliseconds(pause_ms - 1));
    EXPECT_EQ(jobs_.launches, launches);
    Advance(absl::Milliseconds(1));
    EXPECT_EQ(jobs_.launches, launches + 1) << pause_ms;
  }
  EXPECT_EQ(Get(second).reason, "waits for its start, 1 before it");
  EXPECT_EQ(events_.size(), 3u) << "two new trials, and the reason once";
  jobs_.refusal = absl::OkStatus();
  Advance(absl::Seconds(5));
  EXPECT_EQ(Get(first).job, "j-1");
  EXPECT_EQ(Get(first).reason, "");
  EXPECT_EQ(Get(second).job, "j-2");
  EXPECT_EQ(jobs_.requests.size(), 2u) << "a try has the request id of the one before";
  jobs_.refusal = absl::ResourceExhaustedError("there are 5 jobs already");
  FailAttempt(1);
  const std::string third = Run();
  jobs_.refusal = absl::OkStatus();
  Advance(absl::Milliseconds(200));
  EXPECT_EQ(Get(third).state, TrialState::Running) << "pauses begin anew";
}

TEST_F(TrialsTest, OneThatTheLauncherHasNoRoomForIsStoppedAtOnce) {
  jobs_.refusal = absl::ResourceExhaustedError("full");
  const std::string paused = Run(), asked = Run();
  Stop(paused);
  EXPECT_EQ(Get(paused).state, TrialState::Stopped);
  jobs_.holds_refusals = true;
  Advance(absl::Milliseconds(200));
  Stop(asked);
  EXPECT_EQ(Get(asked).state, TrialState::Pending) << "the launcher may be starting it";
  On([&] { jobs_.Refuse(); });
  EXPECT_EQ(Get(asked).state, TrialState::Stopped);
  Advance(absl::Minutes(1));
  EXPECT_TRUE(jobs_.jobs.empty());
}

TEST_F(TrialsTest, AStopReachesAJobThatWasStartedBeforeTheLauncherHadNoRoom) {
  jobs_.answers = false;
  const std::string id = Run();
  jobs_.answers = true;
  jobs_.refusal = absl::ResourceExhaustedError("busy");
  Restart();
  EXPECT_THAT(Get(id).reason, HasSubstr("busy"));
  Stop(id);
  EXPECT_EQ(Get(id).state, TrialState::Pending);
  Advance(absl::Seconds(1));
  Restart();
  EXPECT_EQ(Get(id).state, TrialState::Pending);
  jobs_.refusal = absl::OkStatus();
  Advance(absl::Seconds(1));
  EXPECT_EQ(Get(id).state, TrialState::Stopping);
  EXPECT_EQ(jobs_.jobs.size(), 1u);
  EXPECT_EQ(jobs_.jobs["j-1"].stops.size(), 1u);
}

TEST_F(TrialsTest, ARefusalThatLeavesDoubtIsNotTakenForNoJob) {
  jobs_.refusal = absl::UnavailableError("full");
  const std::string id = Run();
  Stop(id);
  EXPECT_EQ(Get(id).state, TrialState::Pending);
  jobs_.refusal = absl::OkStatus();
  Advance(absl::Milliseconds(200));
  EXPECT_EQ(Get(id).state, TrialState::Stopping);
}

TEST_F(TrialsTest, ANewAttemptWhileRestartsAreLeft) {
  msg::RunTrialRequestT request = Request("r");
  request.max_restarts = 1;
  const std::string id = Run(request);
  Say("j-1", 1, Report(1));
  SayEnd("j-1", 1);
  EndJob("j-1", 1);
  EXPECT_EQ(Get(id).state, TrialState::Running);
  EXPECT_EQ(Get(id).attempt, 2u);
  EXPECT_EQ(Get(id).job, "j-2");
  EXPECT_THAT(jobs_.jobs["j-2"].spec.environment, Contains("YARD_ATTEMPT=2"));
  EXPECT_NE(jobs_.jobs["j-1"].spec.report_channel->nonce,
            jobs_.jobs["j-2"].spec.report_channel->nonce);
  EXPECT_THAT(Say("j-1", 2, Report(9)), HasSubstr("ERR"));
  EXPECT_THAT(Say("j-2", 1, Report(2)), HasSubstr("ok"));
  EXPECT_EQ(Get(id).reports, 2u);
  EXPECT_EQ(Get(id).training_iteration, 1) << "it began anew";
  SayEnd("j-2", 1);
  EndJob("j-2", 1);
  EXPECT_EQ(Get(id).state, TrialState::Failed);
  EXPECT_EQ(jobs_.jobs.size(), 2u);
}

TEST_F(TrialsTest, AttemptsThatFailQuicklyAreHeldBackLongerAndLonger) {
  msg::RunTrialRequestT request = Request("r");
  request.max_restarts = 100000;
  const std::string id = Run(request);
  FailAttempt(1);
  EXPECT_EQ(Get(id).attempt, 2u) << "the first restart is at once";
  EXPECT_EQ(Get(id).state, TrialState::Running);
  EXPECT_EQ(Get(id).reason, "");
  absl::Duration delay = absl::Milliseconds(100);
  for (int attempt = 2; attempt < 14; ++attempt) {
    FailAttempt(attempt);
    EXPECT_EQ(Get(id).state, TrialState::Pending);
    EXPECT_EQ(Get(id).reason,
              absl::StrCat("attempt ", attempt, " failed: exit code 1; the next one waits ",
                           absl::FormatDuration(delay)));
    Advance(delay - absl::Milliseconds(1));
    EXPECT_EQ(Get(id).state, TrialState::Pending) << attempt;
    Advance(absl::Milliseconds(1));
    EXPECT_EQ(Get(id).state, TrialState::Running) << attempt;
    EXPECT_EQ(Get(id).reason, "");
    delay = std::min(delay * 2, absl::Seconds(30));
  }
  EXPECT_EQ(delay, absl::Seconds(30));
  Advance(absl::Seconds(10));
  FailAttempt(14);
  EXPECT_EQ(Get(id).state, TrialState::Running) << "a long attempt begins the count anew";
  FailAttempt(15);
  Advance(absl::Milliseconds(100));
  EXPECT_EQ(Get(id).state, TrialState::Running);
}

TEST_F(TrialsTest, OneThatIsHeldBackTakesNoSlotAndAStopEndsIt) {
  msg::RunTrialRequestT request = Request("r");
  request.max_restarts = 100;
  const std::string id = Run(request);
  Run();
  const std::string third = Run();
  FailAttempt(1, "j-1");
  FailAttempt(2, "j-3");
  EXPECT_EQ(Get(id).state, TrialState::Pending);
  EXPECT_EQ(Get(third).state, TrialState::Running);
  Stop(id);
  EXPECT_EQ(Get(id).state, TrialState::Stopped);
  EXPECT_EQ(Get(id).reason, "it was asked to stop");
  Advance(absl::Minutes(1));
  EXPECT_EQ(Get(id).state, TrialState::Stopped);
  EXPECT_EQ(jobs_.jobs.size(), 4u);
}

TEST_F(TrialsTest, ANewTrainerStartsAtOnceWhatTheLastOneHeldBack) {
  msg::RunTrialRequestT request = Request("r");
  request.max_restarts = 100;
  const std::string id = Run(request);
  for (int attempt = 1; attempt <= 3; ++attempt) {
    FailAttempt(attempt);
    if (attempt == 2) Advance(absl::Milliseconds(100));
  }
  EXPECT_EQ(Get(id).state, TrialState::Pending);
  Restart();
  EXPECT_EQ(Get(id).state, TrialState::Running);
  EXPECT_EQ(Get(id).attempt, 4u);
}

TEST_F(TrialsTest, AnAttemptThatOutlivedATrainerIsNoQuickFailure) {
  msg::RunTrialRequestT request = Request("r");
  request.max_restarts = 100;
  const std::string id = Run(request);
  Advance(absl::Seconds(10));
  Restart();
  FailAttempt(1);
  FailAttempt(2);
  Advance(absl::Milliseconds(100));
  EXPECT_EQ(Get(id).state, TrialState::Running);
}

TEST_F(TrialsTest, StopIsTheAnswerToTheNextReport) {
  const std::string id = Run();
  Say("j-1", 1, Report(1));
  Stop(id, absl::Seconds(5));
  EXPECT_EQ(Get(id).state, TrialState::Stopping);
  EXPECT_EQ(Say("j-1", 2, R"({"t":"report","m":{},"seq":2})"),
            R"({"t":"stop","seq":2,"reason":"stop","grace_s":5})");
  EXPECT_THAT(Say("j-1", 1, Report(1)), HasSubstr("ok")) << "a stop may not change an old answer";
  EXPECT_TRUE(jobs_.jobs["j-1"].stops.empty());
  SayEnd("j-1", 2);
  EndJob("j-1", 0);
  EXPECT_EQ(Get(id).state, TrialState::Stopped);
  EXPECT_EQ(Get(id).reports, 2u);
}

TEST_F(TrialsTest, OneThatDoesNotStopInTimeIsStoppedFromOutside) {
  const std::string id = Run();
  Say("j-1", 1, Report(1));
  Stop(id, absl::Seconds(5));
  clock_.Advance(absl::Seconds(4));
  loop_->Settle();
  EXPECT_TRUE(jobs_.jobs["j-1"].stops.empty());
  clock_.Advance(absl::Seconds(1));
  loop_->Settle();
  EXPECT_THAT(jobs_.jobs["j-1"].stops, ElementsAre(absl::Seconds(5)));
}

TEST_F(TrialsTest, OneThatNeverSpokeIsStoppedFromOutsideAtOnce) {
  const std::string id = Run();
  Stop(id);
  EXPECT_THAT(jobs_.jobs["j-1"].stops, ElementsAre(absl::Seconds(10)));
  SayEnd("j-1", 0);
  EndJob("j-1", 143);
  EXPECT_EQ(Get(id).state, TrialState::Stopped);
}

TEST_F(TrialsTest, OneThatWaitsIsStoppedWithoutAJob) {
  Run();
  Run();
  const std::string id = Run();
  Stop(id);
  EXPECT_EQ(Get(id).state, TrialState::Stopped);
  EXPECT_EQ(jobs_.jobs.size(), 2u);
}

TEST_F(TrialsTest, AStopIsKeptOverARestart) {
  const std::string id = Run();
  Say("j-1", 1, Report(1));
  Stop(id);
  Restart();
  EXPECT_THAT(Say("j-1", 2, Report(1)), HasSubstr("stop"));
  SayEnd("j-1", 2);
  EndJob("j-1", 0);
  EXPECT_EQ(Get(id).state, TrialState::Stopped);
}

TEST_F(TrialsTest, AfterARestartALaunchWithoutAnswerIsAskedForAgain) {
  jobs_.answers = false;
  const std::string id = Run();
  EXPECT_EQ(Get(id).state, TrialState::Pending);
  EXPECT_THAT(Say("j-1", 1, Report(1)), HasSubstr("ok"))
      << "it may report before it is known to run";
  jobs_.answers = true;
  Restart();
  EXPECT_EQ(Get(id).state, TrialState::Running);
  EXPECT_EQ(jobs_.jobs.size(), 1u) << "no second copy";
}

TEST_F(TrialsTest, AStopDuringALaunchReachesTheJob) {
  jobs_.answers = false;
  const std::string id = Run();
  Stop(id);
  EXPECT_FALSE(Get(id).state == TrialState::Stopped);
  jobs_.answers = true;
  Restart();
  EXPECT_EQ(Get(id).state, TrialState::Stopping);
  EXPECT_EQ(jobs_.jobs["j-1"].stops.size(), 1u);
}

TEST_F(TrialsTest, AJobThatEndedMeanwhileIsNoticedAfterARestart) {
  const std::string id = Run();
  Say("j-1", 1, Report(1));
  Kill();
  jobs_.jobs["j-1"].follower = nullptr;
  LoopThread idle(&clock_);
  jobs_.SetLoop(idle.loop());
  idle.Call([&] { jobs_.End("j-1", 0); });
  idle.Stop();
  Start();
  EXPECT_THAT(Say("j-1", 2, Report(2)), HasSubstr("ok"));
  SayEnd("j-1", 2);
  EXPECT_EQ(Get(id).state, TrialState::Done);
  EXPECT_EQ(Get(id).reports, 2u);
}

TEST_F(TrialsTest, AJobTheLauncherHasForgottenFails) {
  const std::string id = Run();
  Kill();
  jobs_.jobs.clear();
  Start();
  EXPECT_EQ(Get(id).state, TrialState::Failed);
  EXPECT_EQ(Get(id).reason, "lost job j-1: no job j-1");
}

TEST_F(TrialsTest, ALineSentAgainCountsOnceAndGetsTheSameAnswer) {
  const std::string id = Run();
  const std::string report = R"({"t":"report","m":{"a":1},"seq":1})";
  const std::string answer = Say("j-1", 1, report);
  EXPECT_EQ(Say("j-1", 1, report), answer);
  Restart();
  EXPECT_EQ(Say("j-1", 1, report), answer);
  EXPECT_EQ(Get(id).reports, 1u);
  const auto together = Send("j-1", {{AttemptKey(), 2, report, false},
                                     {AttemptKey(), 2, report, false},
                                     {AttemptKey(), 1, report, false}});
  EXPECT_THAT(together, ElementsAre(answer, answer, answer));
  EXPECT_EQ(Get(id).reports, 2u);
}

TEST_F(TrialsTest, AGapIsRefused) {
  Run();
  EXPECT_THAT(Say("j-1", 2, Report(1)), HasSubstr("expected line 1"));
  EXPECT_EQ(Say("j-1", 1, Report(1)), R"({"t":"ok","events":[]})");
  EXPECT_THAT(SayEnd("j-1", 5), HasSubstr("expected line 2"));
}

TEST_F(TrialsTest, ABadLineIsAnsweredAndCostsOnlyItself) {
  const std::string id = Run();
  EXPECT_THAT(Say("j-1", 1, "nonsense"), HasSubstr(R"("code":"INVALID_ARGUMENT")"));
  EXPECT_THAT(Say("j-1", 2, R"({"t":"barrier"})"), HasSubstr(R"("code":"UNIMPLEMENTED")"));
  EXPECT_THAT(Say("j-1", 3, Report(1)), HasSubstr("ok"));
  EXPECT_EQ(Get(id).reports, 1u);
}

TEST_F(TrialsTest, TheSumOfWhatAProgramSaysOfItsTimeStopsAtTheLargest) {
  const std::string id = Run(Request("r"));
  std::vector<RelayedLine> lines;
  for (int i = 1; i <= 9300; ++i) {
    lines.push_back(
        {AttemptKey(), i, R"({"t":"report","m":{"time_this_iter_s":999999999}})", false});
  }
  EXPECT_THAT(Send("j-1", lines).back(), HasSubstr("ok"));
  std::vector<ResultRow> last;
  On([&] { last = *trials_->RowsAfter(id, 9299); });
  ASSERT_EQ(last.size(), 1u);
  EXPECT_EQ(last[0].time_total_us, std::numeric_limits<std::int64_t>::max());
  const std::string file =
      runtime::ReadFile(directory_ + "/runs/r/result.json", 10 << 20).value_or("missing");
  EXPECT_NE(file.find(R"("time_total_s":9223372036854.775807,)"), file.npos);
  EXPECT_EQ(file.find(R"("time_total_s":-)"), file.npos);
}

TEST_F(TrialsTest, IsFoundByIdPrefixAndName) {
  const std::string a = Run(Request("a")), b = Run(Request("b"));
  const auto find = [&](const std::string& name) {
    absl::StatusOr<std::string> id;
    On([&] { id = trials_->Find(name); });
    return id;
  };
  EXPECT_EQ(*find(a), a);
  EXPECT_EQ(*find("b"), b);
  EXPECT_EQ(find("t-").status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(find("t-").status().message()), HasSubstr(a));
  EXPECT_THAT(std::string(find("t-").status().message()), HasSubstr(b));
  EXPECT_EQ(find("c").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(find("").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(TrialsTest, WhatTheLauncherIsAskedForCarriesTheTraceOfTheCommand) {
  trace_ = "run-1";
  msg::RunTrialRequestT request = Request("r");
  request.max_restarts = 1;
  const std::string id = Run(request);
  EXPECT_EQ(jobs_.jobs["j-1"].trace, "run-1");
  Restart();
  FailAttempt(1);
  EXPECT_EQ(jobs_.jobs["j-2"].trace, "run-1") << "it is kept with the trial";
  trace_ = "stop-2";
  Stop(id);
  EXPECT_THAT(jobs_.jobs["j-2"].stop_traces, ElementsAre("stop-2"));
  Restart();
  EXPECT_THAT(jobs_.jobs["j-2"].stop_traces, ElementsAre("stop-2", "run-1"));
}

TEST_F(TrialsTest, AStopDuringALaunchKeepsItsTrace) {
  jobs_.answers = false;
  trace_ = "run-1";
  const std::string id = Run();
  trace_ = "stop-2";
  Stop(id);
  On([&] { jobs_.Answer("j-1"); });
  EXPECT_THAT(jobs_.jobs["j-1"].stop_traces, ElementsAre("stop-2"));
}

TEST_F(TrialsTest, AnnouncesEveryReportAndChangeOfState) {
  Run();
  Say("j-1", 1, Report(1));
  SayEnd("j-1", 1);
  EndJob("j-1", 0);
  std::vector<std::string> seen;
  for (const auto& event : events_) {
    seen.push_back(event.row ? absl::StrCat("row ", event.row->row)
                             : msg::EnumNameTrialState(event.trial->state));
  }
  EXPECT_THAT(seen, ElementsAre("Pending", "Running", "row 1", "Done"));
}

// Ray's duplicate of the last result is for code that decides about trials, not for the files.
TEST_F(TrialsTest, AnEndIsNoRowAndItsEventHasTheLastMetrics) {
  Run(Request("n"));
  Say("j-1", 1, Report(1));
  Say("j-1", 2, Report(2));
  const std::string reported = File("n/result.json");
  SayEnd("j-1", 2);
  EndJob("j-1", 0);
  EXPECT_EQ(File("n/result.json"), reported);
  ASSERT_FALSE(events_.empty());
  EXPECT_EQ(events_.back().row, nullptr);
  EXPECT_EQ(events_.back().trial->state, TrialState::Done);
  EXPECT_EQ(events_.back().trial->last_metrics, R"({"loss":2})");
  EXPECT_EQ(events_.back().trial->reports, 2u);
}

// Returns how often `part` occurs in `text`.
std::size_t Count(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

std::vector<std::uint64_t> RowsIn(const msg::TrialEventT& event) {
  std::vector<std::uint64_t> rows = {event.row->row};
  for (const auto& row : event.more_rows) rows.push_back(row->row);
  return rows;
}

TEST_F(TrialsTest, AProgramThatReportsOftenHasItsRowsWrittenAndToldTogether) {
  options_.spread_every = absl::Milliseconds(20);
  Restart();
  const std::string id = Run(Request("n"));
  events_.clear();
  Say("j-1", 1, Report(1));
  EXPECT_EQ(events_.size(), 1u) << "the first one at once";
  for (int i = 2; i <= 5; ++i) Say("j-1", i, Report(i));
  EXPECT_EQ(events_.size(), 1u);
  EXPECT_EQ(Count(File("n/result.json"), "loss"), 1u);
  EXPECT_EQ(Get(id).reports, 5u) << "stored and answered";
  Advance(absl::Milliseconds(20));
  ASSERT_EQ(events_.size(), 2u) << "those behind it in one";
  EXPECT_THAT(RowsIn(events_[0]), ElementsAre(1));
  EXPECT_THAT(RowsIn(events_[1]), ElementsAre(2, 3, 4, 5));
  EXPECT_EQ(events_[1].trial->reports, 5u);
  EXPECT_EQ(Count(File("n/result.json"), "loss"), 5u);
  Advance(absl::Milliseconds(20));
  Say("j-1", 6, Report(6));
  EXPECT_EQ(events_.size(), 3u) << "nothing was said for so long";
}

TEST_F(TrialsTest, NoAnswerToAProgramThatReportsOftenWaitsForItsFiles) {
  options_.spread_every = absl::Milliseconds(20);
  Restart();
  Run(Request("n"));
  Say("j-1", 1, Report(1));
  events_.clear();
  for (int i = 2; i <= 40; ++i) {
    Advance(absl::Milliseconds(5));
    const std::size_t told = events_.size();
    Say("j-1", i, Report(i));
    EXPECT_EQ(events_.size(), told) << "by report " << i;
  }
  EXPECT_GE(events_.size(), 8u) << "in its turn";
}

TEST_F(TrialsTest, RowsThatWaitComeBeforeAChangeOfStateAndBeforeTheEnd) {
  options_.spread_every = absl::Seconds(20);
  Restart();
  const std::string id = Run(Request("n"));
  events_.clear();
  for (int i = 1; i <= 3; ++i) Say("j-1", i, Report(i));
  Stop(id);
  ASSERT_EQ(events_.size(), 3u);
  EXPECT_THAT(RowsIn(events_[0]), ElementsAre(1));
  EXPECT_THAT(RowsIn(events_[1]), ElementsAre(2, 3));
  EXPECT_EQ(events_[2].row, nullptr);
  EXPECT_THAT(Say("j-1", 4, Report(4)), HasSubstr("stop"));
  SayEnd("j-1", 4);
  EndJob("j-1", 0);
  EXPECT_EQ(Count(File("n/result.json"), "loss"), 4u);
}

TEST_F(TrialsTest, ManyRowsDoNotWait) {
  options_.spread_every = absl::Seconds(20);
  Restart();
  Run(Request("n"));
  events_.clear();
  for (int i = 1; i <= 300; ++i) Say("j-1", i, Report(i));
  ASSERT_EQ(events_.size(), 2u);
  EXPECT_EQ(RowsIn(events_[1]).size(), 256u);
}

TEST_F(TrialsTest, ATrainerThatLeavesWritesWhatWaits) {
  options_.spread_every = absl::Seconds(20);
  Restart();
  Run(Request("n"));
  for (int i = 1; i <= 3; ++i) Say("j-1", i, Report(i));
  EXPECT_EQ(Count(File("n/result.json"), "loss"), 1u);
  Kill();
  EXPECT_EQ(Count(File("n/result.json"), "loss"), 3u);
  Start();
}

TEST_F(TrialsTest, AFollowerGetsEachRowOnceAndTheEnd) {
  const std::string id = Run();
  for (int i = 1; i <= 3; ++i) Say("j-1", i, Report(i));
  auto live = std::make_shared<FakeWriter>(), stored = std::make_shared<FakeWriter>();
  On([&] {
    StartFollowCall(trials_.get(), loop_->loop(), id, 1, true, live);
    StartFollowCall(trials_.get(), loop_->loop(), id, 0, false, stored);
  });
  EXPECT_THAT(live->rows, ElementsAre(2, 3));
  EXPECT_THAT(stored->rows, ElementsAre(1, 2, 3));
  EXPECT_EQ(stored->final, TrialState::Running);
  Say("j-1", 4, Report(4));
  live->full = true;
  Say("j-1", 5, Report(5));
  EXPECT_THAT(live->rows, ElementsAre(2, 3, 4));
  live->full = false;
  On([&] { live->writable(); });
  SayEnd("j-1", 5);
  EndJob("j-1", 0);
  EXPECT_THAT(live->rows, ElementsAre(2, 3, 4, 5));
  EXPECT_EQ(live->final, TrialState::Done);
}

TEST_F(TrialsTest, AFollowerThatWantsNoRowsGetsTheEnd) {
  const std::string id = Run();
  std::vector<std::shared_ptr<FakeWriter>> writers;
  for (const std::uint64_t none : {std::uint64_t{1} << 62, (std::uint64_t{1} << 63) - 1,
                                   std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
    auto writer = std::make_shared<FakeWriter>();
    writers.push_back(writer);
    On([&] { StartFollowCall(trials_.get(), loop_->loop(), id, none, true, writer); });
  }
  Say("j-1", 1, Report(1));
  SayEnd("j-1", 1);
  EndJob("j-1", 0);
  for (const auto& writer : writers) {
    EXPECT_TRUE(writer->rows.empty());
    EXPECT_EQ(writer->final, TrialState::Done);
  }
}

TEST_F(TrialsTest, AFollowerHearsWhyATrialWaits) {
  jobs_.refusal = absl::ResourceExhaustedError("busy");
  const std::string id = Run();
  auto writer = std::make_shared<FakeWriter>();
  On([&] { StartFollowCall(trials_.get(), loop_->loop(), id, 0, true, writer); });
  jobs_.refusal = absl::ResourceExhaustedError("full");
  for (int i = 0; i < 5; ++i) Advance(absl::Seconds(5));
  jobs_.refusal = absl::OkStatus();
  Advance(absl::Seconds(5));
  EXPECT_THAT(writer->reasons, ElementsAre("the launcher cannot start it yet: busy",
                                           "the launcher cannot start it yet: full", ""));
}

// Reading a new row back would cost as much as storing it.
TEST_F(TrialsTest, AFollowerIsSentWhatComesWithoutReadingTheStore) {
  const std::string id = Run();
  auto writer = std::make_shared<FakeWriter>();
  On([&] { StartFollowCall(trials_.get(), loop_->loop(), id, 0, true, writer); });
  SQLite::Database database(directory_ + "/trainer.db");
  const auto waiting = [&] { return database.execAndGet("SELECT count(*) FROM recent").getInt(); };
  for (int i = 1; i <= 5; ++i) {
    Say("j-1", i, Report(i));
    EXPECT_EQ(writer->rows.size(), static_cast<std::size_t>(i));
    EXPECT_EQ(waiting(), i) << "what is read is put in its place before";
  }
  EXPECT_THAT(writer->rows, ElementsAre(1, 2, 3, 4, 5));
}

TEST_F(TrialsTest, AFollowerThatIsSlowMissesNothingAndGetsNothingTwice) {
  const std::string id = Run();
  auto writer = std::make_shared<FakeWriter>();
  On([&] { StartFollowCall(trials_.get(), loop_->loop(), id, 0, true, writer); });
  std::int64_t line = 0;
  for (int i = 0; i < 4; ++i) {
    writer->full = true;
    for (int of_full = 0; of_full < 3; ++of_full) Say("j-1", ++line, Report(1));
    writer->full = false;
    On([&] { writer->writable(); });
    Say("j-1", ++line, Report(2));
  }
  std::vector<std::uint64_t> all;
  for (std::uint64_t row = 1; row <= 16; ++row) all.push_back(row);
  EXPECT_EQ(writer->rows, all);
}

TEST_F(TrialsTest, AFollowerThatLeftIsSentNothing) {
  const std::string id = Run();
  auto writer = std::make_shared<FakeWriter>();
  On([&] { StartFollowCall(trials_.get(), loop_->loop(), id, 0, true, writer); });
  On([&] { writer->on_cancel(); });
  Say("j-1", 1, Report(1));
  EXPECT_TRUE(writer->rows.empty());
  EXPECT_EQ(writer.use_count(), 1) << "the call is gone";
}

TEST_F(TrialsTest, ItsFilesAreTheSameAfterAnyRestart) {
  Run(Request("one"));
  for (int i = 1; i <= 4; ++i) Say("j-1", i, Report(i));
  const std::string whole = File("one/result.json");
  std::filesystem::resize_file(directory_ + "/runs/one/result.json", whole.size() - 5);
  std::filesystem::remove(directory_ + "/runs/one/progress.csv");
  Restart();
  EXPECT_EQ(File("one/result.json"), whole);
  EXPECT_THAT(File("one/progress.csv"), HasSubstr("\n4,"));
}

// ---- The end of a trial by itself.

msg::RunTrialRequestT WithOptions(msg::TrialOptionsT options, const std::string& name = "r") {
  msg::RunTrialRequestT request;
  request.name = name;
  request.argv = {"prog"};
  request.working_directory = "/";
  request.options = std::make_unique<msg::TrialOptionsT>(std::move(options));
  return request;
}

msg::RunTrialRequestT WithStop(const std::string& stop) {
  msg::TrialOptionsT options;
  options.stop = stop;
  return WithOptions(std::move(options));
}

TEST_F(TrialsTest, ACriterionThatIsMetEndsTheTrialDone) {
  const std::string id = Run(WithStop(R"({"training_iteration":2})"));
  EXPECT_EQ(Say("j-1", 1, Report(1)), R"({"t":"ok","events":[]})");
  EXPECT_EQ(Say("j-1", 2, Report(2)), R"({"t":"stop","reason":"stop","grace_s":10})");
  EXPECT_THAT(File("r/result.json"), HasSubstr(R"({"loss":2,"step":2,"done":true,)"));
  EXPECT_THAT(Say("j-1", 3, Report(3)), HasSubstr("stop")) << "as after any stop";
  SayEnd("j-1", 3);
  EndJob("j-1", 1);
  EXPECT_EQ(Get(id).state, TrialState::Done) << "however its program ends";
  EXPECT_EQ(Get(id).reason, "training_iteration has reached 2");
  EXPECT_EQ(Get(id).reports, 3u);
}

TEST_F(TrialsTest, AProgramThatGoesOnAfterItsCriterionIsStoppedFromOutside) {
  Run(WithStop(R"({"loss":1})"));
  Say("j-1", 1, Report(1));
  Advance(absl::Seconds(9));
  EXPECT_TRUE(jobs_.jobs["j-1"].stops.empty());
  Advance(absl::Seconds(1));
  EXPECT_THAT(jobs_.jobs["j-1"].stops, ElementsAre(absl::Seconds(10)));
}

constexpr char kDone[] = R"({"t":"report","m":{"loss":1},"done":true})";

TEST_F(TrialsTest, OneThatHasSaidDoneAndGoesOnIsStoppedAfterItsGraceTime) {
  const std::string id = Run();
  EXPECT_THAT(Say("j-1", 1, kDone), HasSubstr(R"("t":"ok")"));
  Advance(absl::Seconds(9));
  EXPECT_TRUE(jobs_.jobs["j-1"].stops.empty());
  Advance(absl::Seconds(1));
  EXPECT_THAT(jobs_.jobs["j-1"].stops, ElementsAre(absl::Seconds(10)));
  SayEnd("j-1", 1);
  EndJob("j-1", 143);
  EXPECT_EQ(Get(id).state, TrialState::Done);
  EXPECT_THAT(Get(id).reason, HasSubstr("it had said that it is done"));
}

TEST_F(TrialsTest, HowAProgramEndsThatHasSaidDoneChangesNothing) {
  auto request = Request();
  request.max_restarts = 3;
  const std::string id = Run(request);
  Say("j-1", 1, kDone);
  Restart();
  SayEnd("j-1", 1);
  EndJob("j-1", 1);
  EXPECT_EQ(Get(id).state, TrialState::Done);
  EXPECT_EQ(jobs_.jobs.size(), 1u) << "no attempt comes after it";
}

TEST_F(TrialsTest, AfterDoneSilenceIsNoFailureAndANewTrainerStopsItToo) {
  auto request = Request();
  request.options = std::make_unique<msg::TrialOptionsT>();
  request.options->heartbeat_ms = 1000;
  const std::string id = Run(request);
  Say("j-1", 1, kDone);
  Advance(absl::Seconds(5));
  EXPECT_TRUE(jobs_.jobs["j-1"].stops.empty());
  Restart();
  Advance(absl::Seconds(10));
  EXPECT_EQ(jobs_.jobs["j-1"].stops.size(), 1u);
  SayEnd("j-1", 1);
  EndJob("j-1", 137);
  EXPECT_EQ(Get(id).state, TrialState::Done);
}

TEST_F(TrialsTest, OneThatSaysDoneAndThatItFailedHasFailed) {
  const std::string id = Run();
  Say("j-1", 1, R"({"t":"fail","error":"no"})");
  Say("j-1", 2, kDone);
  SayEnd("j-1", 2);
  EndJob("j-1", 0);
  EXPECT_EQ(Get(id).state, TrialState::Failed);
}

TEST_F(TrialsTest, ACriterionIsKeptOverARestart) {
  const std::string id = Run(WithStop(R"({"loss":1})"));
  const std::string answer = Say("j-1", 1, Report(1));
  Restart();
  EXPECT_EQ(Say("j-1", 1, Report(1)), answer);
  EXPECT_THAT(Say("j-1", 2, Report(0)), HasSubstr("stop"));
  Advance(absl::Seconds(10));
  EXPECT_EQ(jobs_.jobs["j-1"].stops.size(), 1u);
  SayEnd("j-1", 2);
  EndJob("j-1", 143);
  EXPECT_EQ(Get(id).state, TrialState::Done);
  EXPECT_EQ(Get(id).reason, "loss has reached 1");
}

TEST_F(TrialsTest, ThoseThatMeetTheirCriterionInOneBatchWithAFailLineKeepBoth) {
  const std::string id = Run(WithStop(R"({"loss":1})"));
  Send("j-1", {{AttemptKey(), 1, R"({"t":"fail","error":"x"})", false},
               {AttemptKey(), 2, Report(1), false},
               {AttemptKey(), 3, R"({"t":"fail","error":"y"})", false}});
  Restart();
  SayEnd("j-1", 3);
  EndJob("j-1", 0);
  EXPECT_EQ(Get(id).state, TrialState::Done);
}

// Like a program that reports its loss often and its accuracy seldom.
TEST_F(TrialsTest, ACriterionWaitsForItsMetricAndTheNewestOfEachIsShown) {
  for (const bool restarts : {false, true}) {
    msg::RunTrialRequestT request = WithStop(R"({"eval_loss":"<0.02"})");
    request.name = restarts ? "b" : "a";
    const std::string id = Run(request);
    const std::string job = Get(id).job;
    const auto say = [&](std::int64_t line, const std::string& metrics) {
      if (restarts) Restart();
      return Say(job, line, absl::StrCat(R"({"t":"report","m":)", metrics, "}"));
    };
    EXPECT_THAT(say(1, R"({"loss":0.5,"lr":0.1})"), HasSubstr("ok"));
    EXPECT_THAT(say(2, R"({"eval_loss":0.02})"), HasSubstr("ok"));
    EXPECT_EQ(Get(id).last_metrics, R"({"eval_loss":0.02,"loss":0.5,"lr":0.1})");
    EXPECT_THAT(say(3, R"({"loss":0.25,"lr":0.1})"), HasSubstr("ok"));
    EXPECT_THAT(say(4, R"({"loss":0.125,"lr":0.1})"), HasSubstr("ok"));
    EXPECT_EQ(Get(id).last_metrics, R"({"loss":0.125,"lr":0.1,"eval_loss":0.02})");
    EXPECT_THAT(say(5, R"({"eval_loss":0.01})"), HasSubstr("stop"));
    SayEnd(job, 5);
    EndJob(job, 0);
    for (int i = 0; i < 2; ++i, Restart()) {
      EXPECT_EQ(Get(id).state, TrialState::Done);
      EXPECT_EQ(Get(id).reason, "eval_loss has fallen below 0.02");
      EXPECT_EQ(Get(id).last_metrics, R"({"eval_loss":0.01,"loss":0.125,"lr":0.1})");
    }
  }
}

// A plateau covers all values, however far back.
TEST_F(TrialsTest, APlateauOfAMetricThatIsSeldomReportedIsSeenByTheNextTrainer) {
  msg::TrialOptionsT options;
  options.plateau = R"({"metric":"acc","num_results":3})";
  const std::string id = Run(WithOptions(std::move(options)));
  std::int64_t line = 0;
  for (int round = 0; round < 2; ++round) {
    Say("j-1", ++line, R"({"t":"report","m":{"acc":1}})");
    for (int i = 0; i < 40; ++i) Say("j-1", ++line, Report(i));
  }
  Restart();
  EXPECT_THAT(Say("j-1", ++line, Report(1)), HasSubstr("ok"));
  EXPECT_THAT(Say("j-1", ++line, R"({"t":"report","m":{"acc":1}})"), HasSubstr("stop"));
  SayEnd("j-1", line);
  EndJob("j-1", 0);
  EXPECT_THAT(Get(id).reason, HasSubstr("plateau"));
}

TEST_F(TrialsTest, AReportThatLacksARequiredMetricFailsTheTrialNamingIt) {
  msg::RunTrialRequestT request = WithStop(R"({"acc":1})");
  request.options->required_metrics = {"acc"};
  const std::string id = Run(request);
  EXPECT_THAT(Say("j-1", 1, Report(1)),
              HasSubstr(R"("code":"FAILED_PRECONDITION","error":"the required metric \"acc\")"));
  EXPECT_EQ(Get(id).reports, 0u) << "it does not count";
  EXPECT_THAT(Say("j-1", 2, Report(2)), HasSubstr("stop"));
  Advance(absl::Seconds(10));
  EXPECT_EQ(jobs_.jobs["j-1"].stops.size(), 1u);
  SayEnd("j-1", 2);
  EndJob("j-1", 143);
  EXPECT_EQ(Get(id).state, TrialState::Failed);
  EXPECT_THAT(Get(id).reason,
              ::testing::StartsWith("the required metric \"acc\" is not in the report; it has: "
                                    "loss, step, done, training_iteration,"));
}

TEST_F(TrialsTest, ATrialMayEndAtAStepThatTheLineSays) {
  msg::TrialOptionsT options;
  options.stop = R"({"step":70})";
  const std::string id = Run(WithOptions(std::move(options)));
  EXPECT_THAT(Say("j-1", 1, R"({"t":"report","m":{"loss":1},"step":69})"), HasSubstr("ok"));
  EXPECT_THAT(Say("j-1", 2, R"({"t":"report","m":{"loss":1},"step":70})"), HasSubstr("stop"));
  SayEnd("j-1", 2);
  EndJob("j-1", 0);
  EXPECT_EQ(Get(id).state, TrialState::Done);
  EXPECT_THAT(Get(id).reason, HasSubstr("step"));
}

TEST_F(TrialsTest, ARequiredMetricThatIsMissingIsAFailureOfTheAttempt) {
  msg::TrialOptionsT options;
  options.required_metrics = {"acc"};
  msg::RunTrialRequestT request = WithOptions(std::move(options));
  request.max_restarts = 1;
  const std::string id = Run(request);
  EXPECT_THAT(Say("j-1", 1, R"({"t":"report","m":{"acc":1}})"), HasSubstr("ok"));
  EXPECT_THAT(Say("j-1", 2, Report(1)), HasSubstr("required metric"));
  Restart();
  SayEnd("j-1", 2);
  EndJob("j-1", 0);
  EXPECT_EQ(Get(id).attempt, 2u);
  EXPECT_THAT(Say("j-2", 1, R"({"t":"report","m":{"acc":1}})"), HasSubstr("ok"))
      << "it begins anew";
  EXPECT_THAT(Say("j-2", 2, R"({"t":"report","m":{},"done":true})"), HasSubstr("ok"));
  SayEnd("j-2", 2);
  EndJob("j-2", 0);
  EXPECT_EQ(Get(id).state, TrialState::Done);
}

// Ray's testMetricCheckingEndToEnd.
TEST_F(TrialsTest, WhoReportsNothingLacksNoRequiredMetric) {
  msg::TrialOptionsT options;
  options.required_metrics = {"acc"};
  const std::string id = Run(WithOptions(std::move(options)));
  SayEnd("j-1", 0);
  EndJob("j-1", 0);
  EXPECT_EQ(Get(id).state, TrialState::Done);
  EXPECT_EQ(Get(id).reason, "");
}

TEST_F(TrialsTest, APlateauIsSeenOverRestartsOfTheTrainer) {
  for (int restarts_at = 0; restarts_at <= 7; ++restarts_at) {
    msg::TrialOptionsT options;
    options.plateau = R"({"metric":"loss"})";
    const std::string id = Run(WithOptions(std::move(options), absl::StrCat("p", restarts_at)));
    const std::string job = Get(id).job;
    for (int i = 1; i <= 6; ++i) {
      if (i == restarts_at) Restart();
      EXPECT_THAT(Say(job, i, Report(i < 3 ? i : 9)), HasSubstr(i < 6 ? "ok" : "stop")) << i;
    }
    if (restarts_at == 7) Restart();
    SayEnd(job, 6);
    EndJob(job, 0);
    EXPECT_THAT(Get(id).reason, HasSubstr("loss has reached a plateau"));
  }
}

TEST_F(TrialsTest, ATimeBudgetThatIsUsedUpEndsTheTrialDone) {
  msg::TrialOptionsT options;
  options.time_budget_ms = 60'000;
  const std::string id = Run(WithOptions(std::move(options)));
  Advance(absl::Seconds(59));
  EXPECT_THAT(Say("j-1", 1, Report(1)), HasSubstr("ok"));
  Advance(absl::Seconds(1));
  EXPECT_THAT(Say("j-1", 2, Report(2)), HasSubstr("stop"));
  EXPECT_THAT(File("r/result.json"), HasSubstr(R"({"loss":2,"step":2,"done":true,)"));
  SayEnd("j-1", 2);
  EndJob("j-1", 0);
  EXPECT_EQ(Get(id).state, TrialState::Done);
  EXPECT_EQ(Get(id).reason, "its time budget of 1m is used up");
}

TEST_F(TrialsTest, ASilentProgramUsesItsTimeBudgetUpToo) {
  msg::TrialOptionsT options;
  options.time_budget_ms = 60'000;
  Run(WithOptions(std::move(options)));
  Advance(absl::Minutes(1));
  EXPECT_EQ(jobs_.jobs["j-1"].stops.size(), 1u);
}

// A user sets the clock two hours forward, and back.
TEST_F(TrialsTest, TheClockOnTheWallIsNoMeasureOfTimeSpent) {
  for (const bool restarts : {false, true}) {
    msg::TrialOptionsT options;
    options.stop = R"({"time_total_s":100})";
    options.time_budget_ms = 60'000;
    msg::RunTrialRequestT request = WithOptions(std::move(options));
    request.name = restarts ? "b" : "a";
    const std::string id = Run(request);
    const std::string job = Get(id).job;
    Advance(absl::Seconds(2));
    const auto report = [&](std::int64_t line, absl::Duration shift) {
      clock_.ShiftWall(shift);
      if (restarts) Restart();
      Advance(absl::Seconds(3));
      return Say(job, line, R"({"t":"report","m":{}})");
    };
    EXPECT_THAT(report(1, absl::Hours(2)), testing::HasSubstr("\"ok\""));
    EXPECT_THAT(report(2, absl::Hours(-4)), testing::HasSubstr("\"ok\""));
    const std::vector<ResultRow> rows = Rows(id);
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(rows[0].time_this_iter_us, 5'000'000);
    EXPECT_EQ(rows[1].time_this_iter_us, 3'000'000);
    EXPECT_EQ(rows[1].time_total_us, 8'000'000);
    EXPECT_EQ(Get(id).state, TrialState::Running);
    Stop(id);
  }
}

TEST_F(TrialsTest, ATimeBudgetCountsTheTimeOfAllAttemptsAndOfEveryTrainer) {
  msg::TrialOptionsT options;
  options.time_budget_ms = 60'000;
  msg::RunTrialRequestT request = WithOptions(std::move(options));
  request.max_restarts = 9;
  const std::string id = Run(request);
  Advance(absl::Seconds(20));
  FailAttempt(1);
  FailAttempt(2);
  Advance(absl::Milliseconds(100));
  EXPECT_EQ(Get(id).job, "j-3");
  Advance(absl::Seconds(20));
  Restart();
  Say("j-3", 1, Report(1));
  Advance(absl::Milliseconds(19'999));
  EXPECT_THAT(Say("j-3", 2, Report(1)), HasSubstr("ok")) << "the wait is not counted";
  Advance(absl::Milliseconds(1));
  EXPECT_THAT(Say("j-3", 3, Report(1)), HasSubstr("stop"));
}

TEST_F(TrialsTest, OneThatGivesNoSignOfLifeHasFailed) {
  msg::TrialOptionsT options;
  options.heartbeat_ms = 5'000;
  msg::RunTrialRequestT request = WithOptions(std::move(options));
  request.max_restarts = 1;
  const std::string id = Run(request);
  for (int i = 1; i <= 3; ++i) {
    Advance(absl::Milliseconds(4'999));
    Say("j-1", i, R"({"t":"hb"})");
  }
  EXPECT_TRUE(jobs_.jobs["j-1"].stops.empty());
  Advance(absl::Milliseconds(1));
  Advance(absl::Milliseconds(4'998));
  EXPECT_TRUE(jobs_.jobs["j-1"].stops.empty());
  Advance(absl::Milliseconds(1));
  EXPECT_THAT(jobs_.jobs["j-1"].stops, ElementsAre(absl::Seconds(10)));
  SayEnd("j-1", 3);
  EndJob("j-1", 143);
  EXPECT_EQ(Get(id).attempt, 2u);
  Restart();
  Advance(absl::Seconds(5));
  Restart();
  EXPECT_EQ(jobs_.jobs["j-2"].stops.size(), 2u) << "the next trainer goes on with it";
  SayEnd("j-2", 0);
  EndJob("j-2", 143);
  EXPECT_EQ(Get(id).state, TrialState::Failed);
  EXPECT_EQ(Get(id).reason, "no sign of life for 5s");
}

TEST_F(TrialsTest, AProgramWhoseFilesAreOnTheirWayIsAlive) {
  msg::TrialOptionsT options;
  options.heartbeat_ms = 5'000;
  Run(WithOptions(std::move(options)));
  Say("j-1", 1, R"({"t":"hb"})");
  Advance(absl::Milliseconds(4'999));
  On([&] { trials_->OnAlive({1, 1}); });
  Advance(absl::Milliseconds(1));
  EXPECT_TRUE(jobs_.jobs["j-1"].stops.empty());
  On([&] { trials_->OnAlive({1, 2}); });  // Another attempt.
  Advance(absl::Milliseconds(4'998));
  EXPECT_TRUE(jobs_.jobs["j-1"].stops.empty());
  Advance(absl::Milliseconds(1));
  EXPECT_EQ(jobs_.jobs["j-1"].stops.size(), 1u);
}

TEST_F(TrialsTest, WhileTheTrainerItselfIsHeldUpNoProgramIsTakenForDead) {
  msg::TrialOptionsT options;
  options.heartbeat_ms = 5'000;
  Run(WithOptions(std::move(options)));
  Advance(absl::Seconds(60));
  EXPECT_TRUE(jobs_.jobs["j-1"].stops.empty());
  Advance(absl::Seconds(5));
  EXPECT_EQ(jobs_.jobs["j-1"].stops.size(), 1u);
}

TEST_F(TrialsTest, RefusesWrongOptionsWhenTheTrialIsMade) {
  const auto refused = TryRun(WithStop(R"({"a":{"b":1}})"), "x");
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("\"a/b\""));
}

// ---- Stored data.

TEST_F(TrialsTest, EachFailureIsInItsErrorFileOnce) {
  const std::string path = directory_ + "/stderr";
  ASSERT_TRUE(runtime::WriteFileAtomically(path, "one\ntwo", 0644).ok());
  msg::RunTrialRequestT request = Request("r");
  request.max_restarts = 1;
  Run(request);
  EXPECT_EQ(File("r/error.txt"), "missing");
  SayEnd("j-1", 0);
  EndJob("j-1", 3, path);
  const std::string first = File("r/error.txt");
  EXPECT_THAT(first, ::testing::StartsWith("Failure # 1 (occurred at 2023-11-1"));
  EXPECT_THAT(first, HasSubstr(")\nattempt 1: exit code 3\none\ntwo\n"));
  std::filesystem::remove(directory_ + "/runs/r/error.txt");
  Restart();
  EXPECT_EQ(File("r/error.txt"), first) << "made again from what is stored";
  SayEnd("j-2", 0);
  EndJob("j-2", 4);
  EXPECT_THAT(File("r/error.txt"), ::testing::StartsWith(first + "Failure # 2 (occurred at "));
  EXPECT_THAT(File("r/error.txt"), ::testing::EndsWith("attempt 2: exit code 4\n"));
}

TEST_F(TrialsTest, AFailureThatATrainerStoredAndWasKilledIsTheSameForTheNextOne) {
  Run(Request("r"));
  On([&] {
    AttemptFailure failure;
    failure.attempt = 1;
    failure.reason = "exit code 3";
    EXPECT_TRUE(store_->AddFailure(1, failure).ok());
  });
  Restart();
  SayEnd("j-1", 0);
  EndJob("j-1", 3);
  EXPECT_THAT(File("r/error.txt"), HasSubstr("Failure # 1 (occurred at 19"));
  EXPECT_THAT(File("r/error.txt"), ::testing::Not(HasSubstr("Failure # 2")));
}

TEST_F(TrialsTest, CountersOfAnAttemptBeginAnewWithIt) {
  msg::RunTrialRequestT request = Request("r");
  request.max_restarts = 1;
  const std::string id = Run(request);
  const std::string report = R"({"t":"report","m":{"timesteps_this_iter":3}})";
  Say("j-1", 1, R"({"t":"hello","v":1,"pid":77})");
  Say("j-1", 2, report);
  Restart();
  Advance(absl::Seconds(2));
  Say("j-1", 3, report);
  SayEnd("j-1", 3);
  EndJob("j-1", 1);
  Say("j-2", 1, report);
  std::vector<ResultRow> rows;
  On([&] { rows = *trials_->RowsAfter(id, 0); });
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[1].iterations_since_restore, 2);
  EXPECT_EQ(rows[1].timesteps_since_restore, 6);
  EXPECT_EQ(rows[1].timesteps_total, 6);
  EXPECT_EQ(rows[1].episodes_total, -1);
  EXPECT_EQ(rows[1].time_since_restore_us, 2'000'000);
  EXPECT_EQ(rows[1].pid, 77);
  EXPECT_EQ(rows[2].iterations_since_restore, 1);
  EXPECT_EQ(rows[2].timesteps_since_restore, 3);
  EXPECT_EQ(rows[2].pid, 0);
}

// Ray's testReportTimeStep: a total that was never reported is null, not zero.
TEST_F(TrialsTest, TotalsAreNullUntilSomethingIsSaidOfThem) {
  const struct {
    const char* metrics;
    const char* totals;
  } kCases[] = {
      {R"("x":1)", R"("timesteps_total":null,"episodes_total":null)"},
      {R"("timesteps_this_iter":0)", R"("timesteps_total":0,"episodes_total":null)"},
      {R"("timesteps_this_iter":0,"episodes_this_iter":0)",
       R"("timesteps_total":0,"episodes_total":0)"},
      {R"("timesteps_this_iter":10,"episodes_this_iter":2)",
       R"("timesteps_total":20,"episodes_total":4)"},
  };
  for (const auto& [metrics, totals] : kCases) {
    const std::string name = absl::StrCat("r", requests_);
    const std::string job = Get(Run(Request(name))).job;
    for (const int i : {1, 2}) Say(job, i, absl::StrCat(R"({"t":"report","m":{)", metrics, "}}"));
    const std::string rows = File(name + "/result.json");
    const std::string last = rows.substr(rows.find('\n'));
    EXPECT_THAT(last, HasSubstr(totals)) << metrics;
    SayEnd(job, 2);
    EndJob(job, 0);
  }
}

TEST_F(TrialsTest, AMetricThatComesLateIsAColumnAlsoAfterARestart) {
  Run(Request("r"));
  Say("j-1", 1, Report(1));
  Send("j-1", {{AttemptKey(), 2, R"({"t":"report","m":{"loss":2,"late":5}})", false},
               {AttemptKey(), 3, R"({"t":"report","m":{"later":7}})", false}});
  const std::string table = File("r/progress.csv");
  EXPECT_THAT(table, HasSubstr(",late,later\n1,"));
  EXPECT_THAT(table, HasSubstr(",5,\n"));
  EXPECT_THAT(table, ::testing::EndsWith(",,7\n"));
  std::filesystem::remove(directory_ + "/runs/r/progress.csv");
  Restart();
  EXPECT_EQ(File("r/progress.csv"), table);
  Say("j-1", 4, R"({"t":"report","m":{"late":6}})");
  EXPECT_THAT(File("r/progress.csv"), ::testing::StartsWith(table));
  EXPECT_THAT(File("r/progress.csv"), ::testing::EndsWith(",6,\n"));
}

TEST_F(TrialsTest, ItsDetailsHaveStatisticsOfEveryReport) {
  msg::TrialOptionsT options;
  options.stop = R"({"loss":1000})";
  options.provenance = R"({"host":"h"})";
  msg::RunTrialRequestT request = WithOptions(std::move(options));
  request.max_restarts = 4;
  request.seed = 9;
  request.config = R"({"lr":1})";
  const std::string id = Run(request);
  const auto details = [&] {
    absl::StatusOr<msg::TrialDetailsReplyT> reply = absl::UnknownError("no answer");
    On([&] { trials_->Details(id, [&](auto result) { reply = std::move(result); }); });
    EXPECT_TRUE(reply.ok()) << reply.status();
    return *std::move(reply);
  };
  EXPECT_TRUE(details().statistics.empty());
  std::vector<RelayedLine> lines;
  for (int i = 1; i <= 600; ++i) lines.push_back({AttemptKey(), i, Report(i), false});
  Send("j-1", lines);
  EXPECT_EQ(details().statistics.at(0)->count, 600u) << "more than one read of the store";
  Say("j-1", 601, Report(0));
  for (int i = 0; i < 3; ++i) {
    const msg::TrialDetailsReplyT reply = details();
    EXPECT_EQ(reply.trial->id, id);
    EXPECT_EQ(reply.options->provenance, R"({"host":"h"})");
    EXPECT_EQ(reply.options->stop, R"({"loss":1000})");
    EXPECT_EQ(reply.max_restarts, 4u);
    EXPECT_EQ(reply.seed, 9u);
    EXPECT_EQ(reply.config, R"({"lr":1})");
    ASSERT_EQ(reply.statistics.size(), 1u);
    EXPECT_EQ(reply.statistics[0]->name, "loss");
    EXPECT_EQ(reply.statistics[0]->count, 601u);
    EXPECT_EQ(reply.statistics[0]->max, 600);
    EXPECT_EQ(reply.statistics[0]->last, 0);
    if (i == 0) Restart();
    if (i == 1) {
      SayEnd("j-1", 601);
      EndJob("j-1", 0);
    }
  }
  absl::Status unknown;
  On([&] { trials_->Details("t-none", [&](auto result) { unknown = result.status(); }); });
  EXPECT_EQ(unknown.code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace trainer
