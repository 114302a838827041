#include "trainer/trial/trial_checkpoints.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/file/file.h"
#include "trainer/checkpoint/checkpoint_directory.h"
#include "trainer/report/line_receiver.h"
#include "trainer/table/trials.h"
#include "trainer/testing/trials_fixture.h"

namespace trainer {
namespace {

using msg::TrialState;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Programs that save checkpoints, under a trainer that may be killed.
class TrialCheckpointsTest : public TrialsFixture {
 protected:
  TrialCheckpointsTest() {
    options_.logdir = directory_;
    options_.slots = 4;
    on_wanted_ = [this](const AttemptKey&) { ++wanted_; };
    Start();
  }
  ~TrialCheckpointsTest() override { Kill(); }

  using TrialsFixture::Say;
  // Sends the job's next line.
  std::string Say(const std::string& job, const std::string& line) {
    return Say(job, ++lines_[job], line);
  }
  std::string Report(const std::string& job, double loss, const std::string& more = "") {
    return Say(job, absl::StrCat(R"({"t":"report","m":{"loss":)", loss, "}", more, "}"));
  }
  static std::string PathIn(const std::string& answer) {
    const std::string name = R"("path":")";
    const std::size_t at = answer.find(name);
    if (at == answer.npos) return "no path in " + answer;
    const std::size_t begin = at + name.size();
    return answer.substr(begin, answer.find('"', begin) - begin);
  }
  std::string Begin(const std::string& job, const std::string& more = "") {
    return PathIn(Say(job, absl::StrCat(R"({"t":"ckpt_begin")", more, "}")));
  }
  static std::string EndLine(const std::string& path) {
    return absl::StrCat(R"({"t":"ckpt_end","path":")", path, "\"}");
  }
  static void Put(const std::string& path, const std::string& content) {
    ASSERT_TRUE(runtime::MakeDirectories(path.substr(0, path.find_last_of('/'))).ok());
    ASSERT_TRUE(runtime::WriteFileAtomically(path, content, 0644).ok());
  }
  static std::string Read(const std::string& path) {
    return runtime::ReadFile(path, 1 << 20).value_or("missing");
  }
  // Begins a checkpoint, writes the file `w`, ends it, and returns the answer.
  std::string SaveLine(const std::string& job, const std::string& content,
                       const std::string& more = "") {
    const std::string path = Begin(job, more);
    Put(path + "/w", content);
    return Say(job, EndLine(path));
  }
  std::string Save(const std::string& job, const std::string& content) {
    return PathIn(SaveLine(job, content));
  }
  void Fail(const std::string& job) {
    On([&] { jobs_.KillShim(job); });
    clock_.Advance(absl::Minutes(1));
    loop_->Settle();
  }
  std::string StartOf(const std::string& job) {
    const std::string name = "YARD_CHECKPOINT=";
    for (const std::string& variable : jobs_.jobs[job].spec.environment) {
      if (variable.substr(0, name.size()) == name) return variable.substr(name.size());
    }
    return "not set";
  }
  std::string RunDirectory(const std::string& name) const { return directory_ + "/" + name; }
  std::vector<std::string> Checkpoints(const std::string& run) const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(RunDirectory(run))) {
      if (entry.is_directory()) names.push_back(entry.path().filename());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  // From the next start on, checkpoints are read when the test says so.
  void ReadLater() {
    options_.background = [this](std::function<void()> work) { work_.push_back(std::move(work)); };
    Restart();
  }
  void ReadNow() {
    On([&] {
      for (const auto& work : std::exchange(work_, {})) work();
    });
  }

  std::map<std::string, std::int64_t> lines_;
  std::vector<std::function<void()>> work_;
  int wanted_ = 0;  // How often held-back lines were requested.
};

TEST_F(TrialCheckpointsTest, ACheckpointThatCouldNotBeCopiedIsGivenUp) {
  Run(Request("r"));
  Report("j-1", 0.5);
  const std::string kept = Begin("j-1");
  const std::string temporary = Begin("j-1");
  Put(temporary + "/w", "half");
  const std::string answer = Say("j-1", absl::StrCat(R"({"t":"ckpt_fail","seq":3,"path":")",
                                                     temporary, R"(","error":"no \"room\""})"));
  EXPECT_EQ(answer, R"({"t":"error","seq":3,"code":"FAILED_PRECONDITION","error":"no \"room\""})");
  EXPECT_FALSE(std::filesystem::exists(temporary));
  EXPECT_TRUE(std::filesystem::exists(kept));
  // Nothing else is removed.
  const std::string saved = Save("j-1", "weights");
  for (const std::string& path : {saved, directory_, RunDirectory("r") + "/params.json"}) {
    Say("j-1", absl::StrCat(R"({"t":"ckpt_fail","path":")", path, R"("})"));
    EXPECT_TRUE(std::filesystem::exists(path)) << path;
  }
  EXPECT_EQ(Read(saved + "/w"), "weights");
}

TEST_F(TrialCheckpointsTest, AProgramSavesAndIsToldWhere) {
  const std::string id = Run(Request("r"));
  EXPECT_EQ(StartOf("j-1"), "");
  EXPECT_EQ(Get(id).checkpoint, "");
  Report("j-1", 0.5);
  const std::string temporary = Begin("j-1", R"(,"seq":4)");
  EXPECT_TRUE(IsTemporary(temporary)) << temporary;
  Put(temporary + "/w", "weights");
  const std::string path = RunDirectory("r") + "/checkpoint_000001";
  EXPECT_EQ(Say("j-1", EndLine(temporary)),
            absl::StrCat(R"({"t":"ok","path":")", path, R"(","events":[]})"));
  EXPECT_TRUE(VerifyCheckpoint(path).ok());
  EXPECT_EQ(Read(path + "/w"), "weights");
  EXPECT_EQ(Get(id).checkpoint, path);
  EXPECT_EQ(Get(id).checkpoint_iteration, 1);
  EXPECT_THAT(Checkpoints("r"), ElementsAre("checkpoint_000001"));
}

// The umask of the caller decides who may read the files of the run.
TEST_F(TrialCheckpointsTest, WhatIsInARunIsForWhomTheUmaskOfItsCallerLets) {
  using std::filesystem::perms;
  const mode_t before = umask(0022);
  for (const mode_t mask : {0077u, 0002u, 0027u}) {
    const std::string name = absl::StrCat("r", mask);
    auto request = Request(name);
    request.options = std::make_unique<msg::TrialOptionsT>();
    request.options->provenance_diff = "diff";
    request.options->caller = std::make_unique<msg::CallersProcessT>();
    request.options->caller->umask = mask;
    const std::string job = Get(Run(request)).job;
    EXPECT_EQ(jobs_.jobs[job].spec.caller->umask, mask);
    Report(job, 0.5);
    const std::string path = Begin(job);
    Report(job, 0.25, R"(,"step":7)");
    Say(job, EndLine(path));
    Say(job, R"({"t":"report","m":{"loss":0.125,"late":1}})");
    Begin(job);
    if (mask == 0002) {  // A user removes everything.
      std::filesystem::remove_all(RunDirectory(name));
      Report(job, 0.1);
      Advance(absl::Minutes(1));
    }
    EXPECT_EQ(std::filesystem::status(RunDirectory(name)).permissions(), perms(0777 & ~mask));
    for (const auto& entry : std::filesystem::recursive_directory_iterator(RunDirectory(name))) {
      EXPECT_EQ(entry.status().permissions(), perms((entry.is_directory() ? 0777 : 0666) & ~mask))
          << entry.path();
    }
  }
  umask(before);
}

TEST_F(TrialCheckpointsTest, AStepNamesIt) {
  const std::string id = Run(Request("r"));
  Report("j-1", 0.5);
  EXPECT_EQ(PathIn(SaveLine("j-1", "a", R"(,"step":500)")),
            RunDirectory("r") + "/checkpoint_000500");
  EXPECT_EQ(Get(id).checkpoint_iteration, 1);
}

TEST_F(TrialCheckpointsTest, ALineSentAgainGetsTheSameAnswerAndCountsOnce) {
  const std::string id = Run(Request("r"));
  Report("j-1", 0.5);
  const std::string temporary = Begin("j-1");
  EXPECT_EQ(PathIn(Say("j-1", 2, R"({"t":"ckpt_begin"})")), temporary);
  const std::string answer = Say("j-1", EndLine(temporary));
  Restart();
  EXPECT_EQ(Say("j-1", 3, EndLine(temporary)), answer);
  EXPECT_EQ(store_->Checkpoints(1)->size(), 1u);
  EXPECT_EQ(Get(id).checkpoint, PathIn(answer));
}

TEST_F(TrialCheckpointsTest, ANewAttemptGoesOnFromTheNewestThatIsWhole) {
  msg::RunTrialRequestT request = Request("r");
  request.max_restarts = 5;
  const std::string id = Run(request);
  Report("j-1", 0.5, R"(,"m2":0)");
  const std::string first = Save("j-1", "one");
  Say("j-1", R"({"t":"report","m":{"time_this_iter_s":90}})");
  const std::string second = Save("j-1", "two");
  Report("j-1", 0.4);
  Begin("j-1");
  Fail("j-1");
  EXPECT_EQ(StartOf("j-2"), second);
  EXPECT_THAT(Checkpoints("r"), ElementsAre("checkpoint_000001", "checkpoint_000002"));
  EXPECT_THAT(Say("j-2", R"({"t":"hello","v":1})"),
              HasSubstr(absl::StrCat(R"("checkpoint":")", second, R"(","iteration":2)")));
  Report("j-2", 0.3);
  EXPECT_EQ(Get(id).training_iteration, 3);
  std::vector<ResultRow> rows;
  On([&] { rows = *trials_->RowsAfter(id, 0); });
  EXPECT_GE(rows.back().time_total_us, 90'000'000);
  EXPECT_EQ(rows.back().attempt, 2);

  Put(second + "/w", "tw0");
  Fail("j-2");
  EXPECT_EQ(StartOf("j-3"), first);
  EXPECT_EQ(Get(id).checkpoint, first);
  EXPECT_EQ(Read(second + "/w"), "tw0") << "what is damaged is not deleted";
  Report("j-3", 0.3);
  EXPECT_EQ(Get(id).training_iteration, 2);
  EXPECT_EQ(Save("j-3", "again"), second);
  EXPECT_TRUE(VerifyCheckpoint(second).ok()) << "it has been replaced";

  std::filesystem::remove_all(second);
  Put(first + "/w", "");
  Fail("j-3");
  EXPECT_EQ(StartOf("j-4"), "");
  EXPECT_THAT(Say("j-4", R"({"t":"hello","v":1})"),
              HasSubstr(R"("checkpoint":null,"iteration":0)"));
}

TEST_F(TrialCheckpointsTest, TotalsGoOnFromWhereTheCheckpointWas) {
  msg::RunTrialRequestT request = Request("r");
  request.max_restarts = 5;
  const std::string id = Run(request);
  const std::string report =
      R"({"t":"report","m":{"timesteps_this_iter":3,"episodes_this_iter":2}})";
  const auto last = [&] {
    std::vector<ResultRow> rows;
    On([&] { rows = *trials_->RowsAfter(id, 0); });
    return rows.back();
  };
  Say("j-1", report);
  Save("j-1", "one");
  Say("j-1", report);  // Repeats the step.
  Fail("j-1");
  EXPECT_EQ(Say("j-2", R"({"t":"hb"})"), "");
  // The next trainer knows no report of this attempt.
  Restart();
  Say("j-2", report);
  EXPECT_EQ(last().timesteps_total, 6);
  EXPECT_EQ(last().episodes_total, 4);
  EXPECT_EQ(last().timesteps_since_restore, 3);
  EXPECT_THAT(Read(absl::StrCat(directory_, "/r/result.json")),
              HasSubstr(R"("timesteps_total":6,"episodes_total":4)"));

  // A checkpoint that a report names gets the counters of that report.
  Put(directory_ + "/r/mine/w", "x");
  Say("j-2", R"({"t":"report","m":{"timesteps_this_iter":3},"ckpt":"mine"})");
  Fail("j-2");
  Say("j-3", report);
  EXPECT_EQ(last().timesteps_total, 12);
  EXPECT_EQ(last().episodes_total, 6);

  // Another trial that starts from it gets them too.
  msg::RunTrialRequestT other = Request("other");
  other.options->from = id;
  const std::string clone = Run(other);
  Say("j-4", report);
  std::vector<ResultRow> rows;
  On([&] { rows = *trials_->RowsAfter(clone, 0); });
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].timesteps_total, 12);
}

// Ray's testRestoreMetricsAfterCheckpointing.
TEST_F(TrialCheckpointsTest, ARestoredTrialCountsOnAndWhatCountsSinceThenBeginsAnew) {
  const std::string report =
      R"({"t":"report","m":{"timesteps_this_iter":10,"time_this_iter_s":2}})";
  Run(Request("a"));
  for (int i = 0; i < 5; ++i) Say("j-1", report);
  msg::RunTrialRequestT request = Request("b");
  request.options->restore = Save("j-1", "w");
  const std::string id = Run(request);
  for (int i = 0; i < 2; ++i) Say("j-2", report);
  std::vector<ResultRow> rows;
  On([&] { rows = *trials_->RowsAfter(id, 0); });
  ASSERT_EQ(rows.size(), 2u);
  for (const int i : {1, 2}) {
    const ResultRow& row = rows[static_cast<std::size_t>(i) - 1];
    EXPECT_EQ(row.training_iteration, 5 + i);
    EXPECT_EQ(row.timesteps_total, 50 + 10 * i);
    EXPECT_EQ(row.time_total_us, (10 + 2 * i) * 1'000'000);
    EXPECT_EQ(row.iterations_since_restore, i);
    EXPECT_EQ(row.timesteps_since_restore, 10 * i);
    EXPECT_EQ(row.time_since_restore_us, 2 * i * 1'000'000);
  }
}

TEST_F(TrialCheckpointsTest, OneThatCannotBeReadIsNotUsed) {
  msg::RunTrialRequestT request = Request("r");
  request.max_restarts = 1;
  Run(request);
  Report("j-1", 1);
  const std::string first = Save("j-1", "one");
  Report("j-1", 1);
  const std::string second = Save("j-1", "two");
  std::filesystem::remove_all(second);
  ASSERT_EQ(symlink(second.c_str(), second.c_str()), 0);
  Fail("j-1");
  EXPECT_EQ(StartOf("j-2"), first);
}

TEST_F(TrialCheckpointsTest, TheDirectoryItStartedFromStaysAlsoAroundAPathInside) {
  const std::string temporary = *MakeTemporaryCheckpoint(directory_ + "/other");
  Put(temporary + "/sub/w", "theirs");
  ASSERT_TRUE(CommitCheckpoint(temporary, "checkpoint_000001", {}).ok());
  msg::RunTrialRequestT request = Request("r");
  request.options->restore = directory_ + "/other/checkpoint_000001/sub";
  Run(request);
  const std::string start = StartOf("j-1");
  EXPECT_EQ(Read(start + "/w"), "theirs");
  const std::string whole = start.substr(0, start.find_last_of('/'));
  EXPECT_THAT(Say("j-1", EndLine(whole)), HasSubstr("INVALID_ARGUMENT"));
  EXPECT_THAT(Report("j-1", 1, absl::StrCat(R"(,"ckpt":")", whole, "\"")),
              HasSubstr("/checkpoint_000001"));
  EXPECT_EQ(Read(start + "/w"), "theirs");
}

TEST_F(TrialCheckpointsTest, WhereAnAttemptStartedIsKnownToTheNextTrainer) {
  msg::RunTrialRequestT request = Request("r");
  request.max_restarts = 1;
  const std::string id = Run(request);
  Report("j-1", 0.5);
  const std::string saved = Save("j-1", "one");
  Fail("j-1");
  Restart();
  EXPECT_THAT(Say("j-2", R"({"t":"hello","v":1})"), HasSubstr(saved));
  Report("j-2", 0.5);
  EXPECT_EQ(Get(id).training_iteration, 2);
}

TEST_F(TrialCheckpointsTest, ATrialStartsFromAPathAndSavesItsOwn) {
  Run(Request("source"));
  Report("j-1", 0.5);
  Report("j-1", 0.4);
  const std::string source = Save("j-1", "theirs");
  msg::RunTrialRequestT request = Request("r");
  request.options->restore = source + "/";
  request.max_restarts = 2;
  const std::string id = Run(request);
  const std::string start = StartOf("j-2");
  EXPECT_THAT(start, HasSubstr(RunDirectory("r") + "/checkpoint_tmp"));
  EXPECT_TRUE(IsTemporary(start));
  EXPECT_EQ(Read(start + "/w"), "theirs");
  EXPECT_THAT(Say("j-2", R"({"t":"hello","v":1})"), HasSubstr(R"("iteration":2)"));
  Report("j-2", 0.3);
  EXPECT_EQ(Get(id).training_iteration, 3);
  EXPECT_EQ(Get(id).checkpoint, "") << "it has none of its own yet";
  EXPECT_THAT(Say("j-2", EndLine(start)), HasSubstr("INVALID_ARGUMENT"));
  EXPECT_EQ(PathIn(Report("j-2", 0.2, absl::StrCat(R"(,"ckpt":")", start, "\""))),
            RunDirectory("r") + "/checkpoint_000004")
      << "never the temporary directory";
  EXPECT_TRUE(IsTemporary(start)) << "the program may still read it";

  std::filesystem::remove_all(RunDirectory("r") + "/checkpoint_000004");
  std::filesystem::remove_all(source);
  Fail("j-2");
  EXPECT_EQ(StartOf("j-3"), start) << "the copy, whatever became of what it is one of";
  EXPECT_EQ(Read(StartOf("j-3") + "/w"), "theirs");
  EXPECT_EQ(Checkpoints("r").size(), 1u);
  EXPECT_EQ(Save("j-3", "ours"), RunDirectory("r") + "/checkpoint_000002");
  Fail("j-3");
  EXPECT_EQ(Read(StartOf("j-4") + "/w"), "ours");
  Fail("j-4");
  EXPECT_EQ(Get(id).state, TrialState::Failed);
  EXPECT_THAT(Checkpoints("r"), ElementsAre("checkpoint_000002"));
}

TEST_F(TrialCheckpointsTest, ATrialStartsFromAnothersNewest) {
  const std::string source = Run(Request("source"));
  msg::RunTrialRequestT request = Request("r");
  request.options->from = "source";
  EXPECT_EQ(TryRun(request).status().code(), absl::StatusCode::kFailedPrecondition);
  Report("j-1", 0.5);
  Save("j-1", "one");
  Report("j-1", 0.5);
  const std::string rotten = Save("j-1", "two");
  Put(rotten + "/w", "tw0");
  Run(request);
  EXPECT_EQ(Read(StartOf("j-2") + "/w"), "one");
  EXPECT_THAT(Say("j-2", R"({"t":"hello","v":1})"), HasSubstr(R"("iteration":1)"));
  EXPECT_EQ(Get(source).checkpoint_iteration, 1);
}

TEST_F(TrialCheckpointsTest, ANullCheckpointIsAStartFromNothing) {
  ASSERT_TRUE(MakeNullCheckpoint(directory_ + "/other", "e").ok());
  msg::RunTrialRequestT request = Request("r");
  request.options->restore = directory_ + "/other/checkpoint_-1";
  Run(request);
  EXPECT_EQ(StartOf("j-1"), "");
  EXPECT_THAT(Checkpoints("r"), IsEmpty());
}

TEST_F(TrialCheckpointsTest, RefusesAStartThatCannotBe) {
  const auto code = [&](const std::string& from, const std::string& restore) {
    msg::RunTrialRequestT request = Request(absl::StrCat("x", requests_));
    request.options->from = from;
    request.options->restore = restore;
    return TryRun(request).status().code();
  };
  EXPECT_EQ(code("nobody", ""), absl::StatusCode::kNotFound);
  EXPECT_EQ(code("", "relative"), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code("a", "/b"), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code("", directory_), absl::StatusCode::kNotFound) << "no checkpoint";
  msg::RunTrialRequestT request = Request("x");
  request.options->keep_checkpoints = -2;
  EXPECT_EQ(TryRun(request).status().code(), absl::StatusCode::kInvalidArgument);
  request.options->keep_checkpoints = 0;
  request.options->checkpoint_metric = "min-";
  EXPECT_EQ(TryRun(request).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(jobs_.jobs.empty());
}

TEST_F(TrialCheckpointsTest, ADirectoryWithCheckpointsOfOthersIsNotTaken) {
  ASSERT_TRUE(MakeTemporaryCheckpoint(RunDirectory("r")).ok());
  EXPECT_EQ(TryRun(Request("r")).status().code(), absl::StatusCode::kAlreadyExists);
}

TEST_F(TrialCheckpointsTest, ADamagedStartFailsTheTrialAndSaysWhich) {
  const std::string saved = directory_ + "/other/checkpoint_000001";
  const std::string temporary = *MakeTemporaryCheckpoint(directory_ + "/other");
  Put(temporary + "/w", "weights");
  ASSERT_TRUE(CommitCheckpoint(temporary, "checkpoint_000001", {}).ok());
  Put(saved + "/w", "weight5");
  msg::RunTrialRequestT request = Request("r");
  request.options->restore = saved;
  const msg::TrialT trial = Get(Run(request));
  EXPECT_EQ(trial.state, TrialState::Failed);
  EXPECT_THAT(trial.reason, HasSubstr(saved + "/w is damaged"));
  EXPECT_THAT(Read(RunDirectory("r") + "/error.txt"), HasSubstr(saved + "/w is damaged"));
  EXPECT_EQ(Get(Run(Request("next"))).state, TrialState::Running);
}

TEST_F(TrialCheckpointsTest, KeepsTheBestAndTheNewest) {
  msg::RunTrialRequestT request = Request("r");
  request.options->keep_checkpoints = 1;
  request.options->checkpoint_metric = "min-loss";
  const std::string id = Run(request);
  for (const double loss : {0.5, 0.1, 0.7}) {
    Report("j-1", loss);
    Save("j-1", "w");
  }
  EXPECT_THAT(Checkpoints("r"), ElementsAre("checkpoint_000002", "checkpoint_000003"));
  Say("j-1", R"({"t":"report","m":{"other":1}})");
  Save("j-1", "w");
  EXPECT_THAT(Checkpoints("r"), ElementsAre("checkpoint_000002", "checkpoint_000004"));
  EXPECT_EQ(store_->Checkpoints(1)->size(), 2u);
  // The report that names a checkpoint determines its score.
  Report("j-1", 0.05, R"(,"ckpt":"checkpoint_000004")");
  Report("j-1", 0.9);
  Save("j-1", "w");
  EXPECT_THAT(Checkpoints("r"), ElementsAre("checkpoint_000004", "checkpoint_000006"));
}

// Like a program of Ray's, with or without the step, and also with a new trainer in between.
TEST_F(TrialCheckpointsTest, OneThatIsSavedBeforeItsReportBelongsToThat) {
  for (const bool says_step : {true, false}) {
    for (const bool restarts : {false, true}) {
      msg::RunTrialRequestT request = Request(absl::StrCat("r", requests_));
      const std::string run = request.name;
      request.options->keep_checkpoints = 1;
      request.options->checkpoint_metric = "min-loss";
      request.max_restarts = 1;
      const std::string id = Run(request);
      const std::string job = Get(id).job;
      const auto round = [&](int step, double loss) {
        const std::string said = says_step ? absl::StrCat(",\"step\":", step) : "";
        SaveLine(job, absl::StrCat(step), said);
        if (restarts) Restart();
        Report(job, loss, said);
      };
      round(1, 0.5);
      round(2, 0.1);
      round(3, 0.7);
      const std::string best =
          RunDirectory(run) + (says_step ? "/checkpoint_000002/w" : "/checkpoint_000001/w");
      EXPECT_EQ(Read(best), "2") << says_step << restarts;
      EXPECT_EQ(Checkpoints(run).size(), 2u);
      EXPECT_EQ(Get(id).checkpoint_iteration, 3);
      // The trainer may be killed before the counters are in the directory.
      if (restarts) std::filesystem::remove(Get(id).checkpoint + "/.counters.json");
      Fail(job);
      const std::string next = Get(id).job;
      EXPECT_EQ(Read(StartOf(next) + "/w"), "3");
      EXPECT_THAT(Say(next, R"({"t":"hello","v":1})"), HasSubstr(R"("iteration":3)"));
      Report(next, 0.6);
      EXPECT_EQ(Get(id).training_iteration, 4);
      // The same holds for another trial that starts from it.
      msg::RunTrialRequestT clone = Request(absl::StrCat("c", requests_));
      clone.options->from = id;
      const std::string other = Run(clone);
      EXPECT_THAT(Say(Get(other).job, R"({"t":"hello","v":1})"), HasSubstr(R"("iteration":3)"));
      Fail(Get(other).job);
      Fail(next);
    }
  }
}

// This holds for all steps, and also if the program saves once before its first report.
TEST_F(TrialCheckpointsTest, OneThatIsSavedAfterItsReportBelongsToThat) {
  for (const bool restarts : {false, true}) {
    msg::RunTrialRequestT request = Request(absl::StrCat("r", requests_));
    const std::string run = request.name;
    request.options->keep_checkpoints = 1;
    request.options->checkpoint_metric = "min-loss";
    const std::string id = Run(request);
    const std::string job = Get(id).job;
    SaveLine(job, "0", R"(,"step":0)");
    const double losses[] = {0.5, 0.1, 0.7, 0.3};
    for (const int i : {1, 2, 3, 4}) {
      const std::string step = absl::StrCat(",\"step\":", 100 * i);
      Report(job, losses[i - 1], step);
      if (restarts) Restart();
      SaveLine(job, absl::StrCat(i), step);
    }
    EXPECT_EQ(Read(RunDirectory(run) + "/checkpoint_000200/w"), "2");
    EXPECT_THAT(Checkpoints(run), ElementsAre("checkpoint_000200", "checkpoint_000400"));
    EXPECT_EQ(Get(id).checkpoint_iteration, 4);
    Fail(job);
  }
}

TEST_F(TrialCheckpointsTest, TheLastOneBelongsToTheLastReportIfNoneFollows) {
  msg::RunTrialRequestT request = Request("r");
  request.options->checkpoint_metric = "loss";
  Run(request);
  SaveLine("j-1", "1");
  Report("j-1", 0.5);
  SaveLine("j-1", "2");
  EXPECT_EQ(store_->NewestCheckpoint(1)->score, std::nullopt) << "the next report would decide";
  Fail("j-1");
  EXPECT_EQ(store_->NewestCheckpoint(1)->score, 0.5);
  EXPECT_FALSE(store_->NewestCheckpoint(1)->pending);
}

TEST_F(TrialCheckpointsTest, AReportThatNamesOneThatWasJustSavedHasIt) {
  msg::RunTrialRequestT request = Request("r");
  request.options->checkpoint_metric = "loss";
  const std::string id = Run(request);
  Report("j-1", 0.5);
  const std::string saved = Save("j-1", "w");
  EXPECT_EQ(Get(id).checkpoint_iteration, 1);
  Report("j-1", 0.25, absl::StrCat(R"(,"ckpt":")", saved, "\""));
  EXPECT_EQ(Get(id).checkpoint_iteration, 2);
  EXPECT_EQ(store_->NewestCheckpoint(1)->score, 0.25);
  EXPECT_EQ(ReadMetadata(saved)->iteration, 2);
  // An older checkpoint keeps its iteration.
  Report("j-1", 0.75);
  Report("j-1", 0.125, absl::StrCat(R"(,"ckpt":")", saved, "\""));
  EXPECT_EQ(Get(id).checkpoint_iteration, 2);
  EXPECT_EQ(store_->NewestCheckpoint(1)->score, 0.125);
  EXPECT_TRUE(VerifyCheckpoint(saved).ok());
}

// As in Ray, the score may be any field of a result, including an automatic one.
TEST_F(TrialCheckpointsTest, AnyFieldOfAResultIsAScore) {
  const struct {
    const char* metric;
    std::vector<double> scores;
  } kCases[] = {
      {"timesteps_total", {10, 30}},    {"min-episodes_total", {1, 3}},
      {"neg_mean_loss", {-0.5, -0.25}}, {"iterations_since_restore", {1, 2}},
      {"training_iteration", {1, 2}},   {"net/depth", {3, 4}},
      {"time_total_s", {2, 5}},         {"time_this_iter_s", {2, 3}},
  };
  for (const auto& [metric, scores] : kCases) {
    msg::RunTrialRequestT request = Request(absl::StrCat("r", requests_));
    request.options->checkpoint_metric = metric;
    const std::string job = Get(Run(request)).job;
    for (const int i : {1, 2}) {
      Say(job, absl::StrCat(R"({"t":"report","m":{"mean_loss":)", 0.5 / i,
                            R"(,"timesteps_this_iter":)", 10 * i, R"(,"episodes_this_iter":)", i,
                            R"(,"time_this_iter_s":)", 1 + i, R"(,"net":{"depth":)", 2 + i, "}}}"));
      Save(job, "w");
    }
    std::vector<double> found;
    const auto rows = store_->Checkpoints(requests_);
    ASSERT_TRUE(rows.ok()) << rows.status();
    for (const CheckpointRow& row : *rows) {
      found.push_back(row.score.value_or(-100));
    }
    std::sort(found.begin(), found.end());
    std::vector<double> expected = scores;
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(found, expected) << metric;
    Fail(job);
  }
}

// A checkpoint saved under the name of a released one is the newest, and stays.
TEST_F(TrialCheckpointsTest, OneThatIsSavedAgainAsTheSameStepStays) {
  msg::RunTrialRequestT request = Request("r");
  request.options->keep_checkpoints = 0;
  Run(request);
  for (const char* const content : {"first", "second", "third"}) {
    Report("j-1", 1);
    SaveLine("j-1", content, R"(,"step":7)");
    EXPECT_THAT(Checkpoints("r"), ElementsAre("checkpoint_000007"));
    EXPECT_EQ(Read(RunDirectory("r") + "/checkpoint_000007/w"), content);
  }
  EXPECT_EQ(store_->Checkpoints(1)->size(), 1u);
}

TEST_F(TrialCheckpointsTest, TheWorstGoWhenAllAreMoreThanTheirLimitOfBytes) {
  msg::RunTrialRequestT request = Request("r");
  request.options->checkpoint_metric = "min-loss";
  request.options->checkpoint_bytes = 25'000;  // Room for two of them.
  Run(request);
  const std::string content(10'000, 'x');
  for (const double loss : {0.5, 0.3, 0.4, 0.6}) {
    Report("j-1", loss);
    Save("j-1", content);
  }
  EXPECT_THAT(Checkpoints("r"), ElementsAre("checkpoint_000002", "checkpoint_000004"));
  Report("j-1", 0.7);
  Save("j-1", std::string(30'000, 'x'));
  EXPECT_THAT(Checkpoints("r"), ElementsAre("checkpoint_000005")) << "the newest stays";
}

TEST_F(TrialCheckpointsTest, OthersAreAnsweredWhileACheckpointIsRead) {
  ReadLater();
  const std::string id = Run(Request("a"));
  Run(Request("b"));
  Report("j-1", 0.5);
  const std::string path = Begin("j-1");
  Put(path + "/w", "weights");
  EXPECT_THAT(Say("j-1", 3, EndLine(path)), HasSubstr("UNAVAILABLE"));
  EXPECT_THAT(Say("j-1", 3, EndLine(path)), HasSubstr("UNAVAILABLE"));
  EXPECT_EQ(work_.size(), 1u) << "it is read once";
  EXPECT_THAT(Report("j-2", 1), HasSubstr(R"("t":"ok")"));
  EXPECT_EQ(Get(id).checkpoint, "");
  EXPECT_EQ(wanted_, 0);
  ReadNow();
  EXPECT_EQ(wanted_, 1);
  EXPECT_EQ(PathIn(Say("j-1", 3, EndLine(path))), RunDirectory("a") + "/checkpoint_000001");
  EXPECT_TRUE(work_.empty());
  EXPECT_TRUE(VerifyCheckpoint(Get(id).checkpoint).ok());
  EXPECT_THAT(Say("j-1", 3, EndLine(path)), HasSubstr("checkpoint_000001")) << "and once stored";
}

TEST_F(TrialCheckpointsTest, LinesBehindACheckpointThatIsReadWaitAndThoseBeforeItAreAnswered) {
  ReadLater();
  const std::string id = Run(Request("a"));
  const std::string path = Begin("j-1");
  Put(path + "/w", "weights");
  std::vector<absl::Status> got;
  const auto send = [&](std::int64_t from, const std::vector<std::string>& texts) {
    On([&] {
      const auto key = *trials_->Greet(jobs_.jobs["j-1"].spec.report_channel->nonce);
      std::vector<RelayedLine> lines;
      for (const std::string& text : texts) lines.push_back({key, from++, text, false});
      got.clear();
      for (const auto& answer : trials_->Receive(lines)) got.push_back(answer.status());
    });
  };
  const std::string report = R"({"t":"report","m":{"loss":1}})";
  const std::string named = R"({"t":"report","m":{"loss":1},"ckpt":"own"})";
  Put(RunDirectory("a") + "/own/w", "theirs");
  send(2, {report, EndLine(path), named});
  EXPECT_TRUE(got[0].ok()) << got[0];
  EXPECT_TRUE(absl::IsUnavailable(got[1])) << got[1];
  EXPECT_TRUE(absl::IsUnavailable(got[2])) << got[2];
  EXPECT_EQ(Get(id).reports, 1u);
  ReadNow();
  send(3, {EndLine(path), named});
  EXPECT_TRUE(got[0].ok()) << got[0];
  EXPECT_TRUE(absl::IsUnavailable(got[1])) << "the second one is read next";
  EXPECT_EQ(Get(id).reports, 1u) << "a report counts with its checkpoint";
  ReadNow();
  send(4, {named});
  EXPECT_TRUE(got[0].ok()) << got[0];
  EXPECT_EQ(Get(id).reports, 2u);
  EXPECT_EQ(Read(Get(id).checkpoint + "/w"), "theirs");
}

TEST_F(TrialCheckpointsTest, OthersAreAnsweredAndStartedWhileAStartIsCopied) {
  ReadLater();
  Run(Request("reports"));
  const std::string temporary = *MakeTemporaryCheckpoint(directory_ + "/other");
  Put(temporary + "/w", "theirs");
  ASSERT_TRUE(CommitCheckpoint(temporary, "checkpoint_000001", {}).ok());
  msg::RunTrialRequestT request = Request("copies");
  request.options->restore = directory_ + "/other/checkpoint_000001";
  const std::string id = Run(request);
  loop_->Settle();
  EXPECT_EQ(Get(id).state, TrialState::Pending);
  EXPECT_EQ(Get(id).reason, "the checkpoint that it starts from is being read");
  EXPECT_THAT(Report("j-1", 1), HasSubstr(R"("t":"ok")"));
  EXPECT_EQ(Get(Run(Request("next"))).job, "j-2");
  ReadNow();
  loop_->Settle();
  EXPECT_EQ(Get(id).state, TrialState::Running);
  EXPECT_EQ(Get(id).job, "j-3");
  EXPECT_EQ(Read(StartOf("j-3") + "/w"), "theirs");
}

// The trial holds its slot meanwhile, and frees it when the start is cancelled.
TEST_F(TrialCheckpointsTest, AStartThatIsCopiedHasItsSlotAndMayBeStopped) {
  options_.slots = 1;
  ReadLater();
  const std::string temporary = *MakeTemporaryCheckpoint(directory_ + "/other");
  ASSERT_TRUE(CommitCheckpoint(temporary, "checkpoint_000001", {}).ok());
  msg::RunTrialRequestT request = Request("copies");
  request.options->restore = directory_ + "/other/checkpoint_000001";
  const std::string id = Run(request), waits = Run(Request("waits"));
  loop_->Settle();
  EXPECT_EQ(Get(waits).state, TrialState::Pending);
  Stop(id);
  EXPECT_EQ(Get(id).state, TrialState::Stopped);
  On([&] { (void)trials_->Get(id); });
  loop_->Settle();
  ReadNow();
  loop_->Settle();
  EXPECT_EQ(Get(waits).state, TrialState::Running);
  EXPECT_THAT(Checkpoints("copies"), IsEmpty()) << "no copy is left";
}

// A running trial may release a checkpoint while another trial copies it.
TEST_F(TrialCheckpointsTest, WhatIsBeingCopiedStays) {
  msg::RunTrialRequestT source = Request("source");
  source.options->keep_checkpoints = 0;
  const std::string from = Run(source);
  Report("j-1", 0.5);
  const std::string first = Save("j-1", "one");
  ReadLater();
  msg::RunTrialRequestT request = Request("clone");
  request.options->from = from;
  const std::string id = Run(request);
  loop_->Settle();
  EXPECT_EQ(Get(id).state, TrialState::Pending);
  Report("j-1", 0.4);
  const std::string path = Begin("j-1");
  Say("j-1", lines_["j-1"] + 1, EndLine(path));
  On([&] { std::exchange(work_, {}).back()(); });
  EXPECT_THAT(Say("j-1", EndLine(path)), HasSubstr("/checkpoint_000002"));
  EXPECT_TRUE(std::filesystem::exists(first));
}

TEST_F(TrialCheckpointsTest, WhatWasReadForAnAttemptThatIsOverIsDropped) {
  ReadLater();
  msg::RunTrialRequestT request = Request("a");
  request.max_restarts = 1;
  const std::string id = Run(request);
  Put(RunDirectory("a") + "/own/w", "theirs");
  EXPECT_THAT(Report("j-1", 1, R"(,"ckpt":"own")"), HasSubstr("UNAVAILABLE"));
  Fail("j-1");
  ReadNow();
  EXPECT_THAT(Checkpoints("a"), ElementsAre("own")) << "no copy is left";
  EXPECT_EQ(Get(id).state, TrialState::Running);
  EXPECT_THAT(Report("j-2", 1), HasSubstr(R"("t":"ok")"));
  EXPECT_EQ(Get(id).checkpoint, "");
}

TEST_F(TrialCheckpointsTest, WhileItsCheckpointIsReadAProgramIsNotTakenForDead) {
  ReadLater();
  msg::RunTrialRequestT request = Request("a");
  request.options->heartbeat_ms = 1000;
  const std::string id = Run(request);
  const std::string path = Begin("j-1");
  Say("j-1", 2, EndLine(path));
  clock_.Advance(absl::Seconds(1));
  loop_->Settle();
  EXPECT_TRUE(jobs_.jobs["j-1"].stops.empty());
  ReadNow();
  EXPECT_THAT(Say("j-1", 2, EndLine(path)), HasSubstr(R"("t":"ok")"));
  clock_.Advance(absl::Seconds(1));
  loop_->Settle();
  EXPECT_EQ(jobs_.jobs["j-1"].stops.size(), 1u);
}

TEST_F(TrialCheckpointsTest, WhatTheAttemptStartedFromStays) {
  msg::RunTrialRequestT request = Request("r");
  request.options->keep_checkpoints = 0;
  request.max_restarts = 1;
  Run(request);
  Report("j-1", 1);
  Save("j-1", "w");
  Fail("j-1");
  for (int i = 0; i < 3; ++i) {
    Report("j-2", 1);
    Save("j-2", "w");
  }
  EXPECT_THAT(Checkpoints("r"), ElementsAre("checkpoint_000001", "checkpoint_000004"));
}

TEST_F(TrialCheckpointsTest, AReportNamesADirectoryOfTheRunWhichIsCopied) {
  const std::string id = Run(Request("r"));
  Put(RunDirectory("r") + "/mine/sub/w", "weights");
  const std::string answer = Report("j-1", 0.5, R"(,"ckpt":"mine","step":30,"seq":1)");
  const std::string path = RunDirectory("r") + "/checkpoint_000030";
  EXPECT_EQ(answer, absl::StrCat(R"({"t":"ok","seq":1,"path":")", path, R"(","events":[]})"));
  EXPECT_EQ(Read(path + "/sub/w"), "weights");
  EXPECT_TRUE(VerifyCheckpoint(path).ok());
  EXPECT_EQ(Read(RunDirectory("r") + "/mine/sub/w"), "weights");
  EXPECT_EQ(Get(id).checkpoint, path);
  EXPECT_EQ(Say("j-1", 1, "again"), answer);
  const std::string begun = Begin("j-1");
  EXPECT_EQ(PathIn(Report("j-1", 0.5, absl::StrCat(R"(,"ckpt":")", begun, "\""))),
            RunDirectory("r") + "/checkpoint_000002");
  EXPECT_FALSE(std::filesystem::exists(begun)) << "what ckpt_begin gave is committed itself";
}

TEST_F(TrialCheckpointsTest, AReportThatIsRefusedLeavesNoCheckpoint) {
  msg::RunTrialRequestT request = Request("r");
  request.options->required_metrics = {"accuracy"};
  const std::string id = Run(request);
  Put(RunDirectory("r") + "/mine/w", "weights");
  EXPECT_THAT(Report("j-1", 0.5, R"(,"ckpt":"mine")"), HasSubstr("accuracy"));
  EXPECT_THAT(Checkpoints("r"), ElementsAre("mine"));
  EXPECT_EQ(Get(id).checkpoint, "");
  EXPECT_EQ(Get(id).reports, 0u);
}

TEST_F(TrialCheckpointsTest, AReportThatEndsTheTrialMayBringACheckpoint) {
  msg::RunTrialRequestT request = Request("r");
  request.options->stop = R"({"training_iteration":1})";
  const std::string id = Run(request);
  Put(RunDirectory("r") + "/mine/w", "weights");
  EXPECT_THAT(Report("j-1", 0.5, R"(,"ckpt":"../r")"), HasSubstr("error"));
  EXPECT_THAT(Report("j-1", 0.5, R"(,"ckpt":"mine")"), HasSubstr(R"("reason":"stop")"))
      << "what a refused report has reached does not count";
  EXPECT_EQ(Get(id).checkpoint_iteration, 1);
  EXPECT_EQ(Get(id).reports, 1u);
}

TEST_F(TrialCheckpointsTest, APausedOneGoesOnFromItsNewest) {
  const std::string id = Run(Request("r"));
  Report("j-1", 0.5);
  On([&] { ASSERT_TRUE(trials_->PauseTrial(id, "").ok()); });
  EXPECT_THAT(Report("j-1", 0.4), HasSubstr(R"("reason":"pause")"));
  const std::string path = Save("j-1", "weights");
  Fail("j-1");
  ASSERT_EQ(Get(id).state, TrialState::Paused) << Get(id).reason;
  Restart();
  On([&] { ASSERT_TRUE(trials_->ResumeTrial(id).ok()); });
  EXPECT_EQ(StartOf("j-2"), path);
  EXPECT_THAT(Say("j-2", R"({"t":"hello","v":1})"), HasSubstr(R"("iteration":2)"));
}

TEST_F(TrialCheckpointsTest, OneThatAnotherStartsFromIsNotRemoved) {
  const std::string source = Run(Request("source"));
  Report("j-1", 0.5);
  Save("j-1", "weights");
  On([&] { ASSERT_TRUE(trials_->Stop(source, absl::ZeroDuration(), "").ok()); });
  Fail("j-1");
  ASSERT_EQ(Get(source).state, TrialState::Stopped);
  for (int i = 0; i < 4; ++i) Run(Request(absl::StrCat("busy-", i)));
  msg::RunTrialRequestT request = Request("clone");
  request.options->from = "source";
  const std::string clone = Run(request);
  for (const bool is_paused : {false, true}) {
    if (is_paused) On([&] { ASSERT_TRUE(trials_->PauseTrial(clone, "").ok()); });
    On([&] {
      const auto removed = trials_->RemoveTrial("source", "rm");
      EXPECT_EQ(removed.status().code(), absl::StatusCode::kFailedPrecondition);
      EXPECT_THAT(std::string(removed.status().message()), HasSubstr(clone));
    });
  }
}

TEST_F(TrialCheckpointsTest, OneThatAnotherStartsFromIsNotForgotten) {
  options_.keep_trials = 1;
  Restart();
  const std::string source = Run(Request("source"));
  Report("j-1", 0.5);
  Save("j-1", "weights");
  Fail("j-1");
  ASSERT_EQ(Get(source).state, TrialState::Failed);
  for (int i = 0; i < 4; ++i) Run(Request(absl::StrCat("busy-", i)));
  msg::RunTrialRequestT request = Request("clone");
  request.options->from = "source";
  const std::string clone = Run(request);
  std::vector<std::string> others;
  const auto end_another = [&] {
    others.push_back(Run(Request()));
    On([&] { ASSERT_TRUE(trials_->Stop(others.back(), absl::ZeroDuration(), "").ok()); });
    Advance(absl::Seconds(1));
  };
  const auto ended = [&] {
    std::vector<std::string> ids;
    On([&] {
      for (const msg::TrialT& trial : trials_->List({})) {
        if (HasEnded(trial.state)) ids.push_back(trial.id);
      }
    });
    return ids;
  };
  end_another();
  end_another();
  EXPECT_THAT(ended(), ElementsAre(source, others[1]));
  On([&] { ASSERT_TRUE(trials_->PauseTrial(clone, "").ok()); });
  Restart();
  end_another();
  EXPECT_THAT(ended(), ElementsAre(source, others[2]));

  On([&] { ASSERT_TRUE(trials_->ResumeTrial(clone).ok()); });
  EXPECT_EQ(Get(clone).state, TrialState::Pending);
  On([&] { jobs_.KillShim("j-2"); });
  EXPECT_EQ(Get(clone).state, TrialState::Running) << Get(clone).reason;
  EXPECT_EQ(Read(StartOf("j-6") + "/w"), "weights");
  Advance(absl::Seconds(1));
  EXPECT_THAT(ended(), ElementsAre(others[2])) << "it has started";
}

TEST_F(TrialCheckpointsTest, WhatAnotherIsToRestoreStaysUntilItHas) {
  msg::RunTrialRequestT request = Request("owner");
  request.options->keep_checkpoints = 0;
  Run(request);
  Report("j-1", 0.5);
  const std::string first = Save("j-1", "one");
  for (int i = 0; i < 3; ++i) Run(Request(absl::StrCat("busy-", i)));
  request = Request("other");
  request.options->restore = first;
  const std::string other = Run(request);
  Report("j-1", 0.5);
  Save("j-1", "two");
  EXPECT_THAT(Checkpoints("owner"), ElementsAre("checkpoint_000001", "checkpoint_000002"));
  On([&] { ASSERT_TRUE(trials_->PauseTrial(other, "").ok()); });
  Restart();
  Report("j-1", 0.5);
  Save("j-1", "three");
  EXPECT_THAT(Checkpoints("owner"), ElementsAre("checkpoint_000001", "checkpoint_000003"));

  On([&] { ASSERT_TRUE(trials_->ResumeTrial(other).ok()); });
  Fail("j-2");
  EXPECT_EQ(Get(other).state, TrialState::Running) << Get(other).reason;
  EXPECT_EQ(Read(StartOf("j-5") + "/w"), "one");
  Report("j-1", 0.5);
  Save("j-1", "four");
  EXPECT_THAT(Checkpoints("owner"), ElementsAre("checkpoint_000004")) << "nobody needs the first";
}

TEST_F(TrialCheckpointsTest, OneWhoseCheckpointAnotherIsToRestoreIsNotRemoved) {
  Run(Request("owner"));
  Report("j-1", 0.5);
  const std::string checkpoint = Save("j-1", "weights");
  Fail("j-1");
  for (int i = 0; i < 4; ++i) Run(Request(absl::StrCat("busy-", i)));
  msg::RunTrialRequestT request = Request("other");
  request.options->restore = checkpoint + "/w";
  const std::string other = Run(request);
  const auto remove = [&] {
    absl::Status status;
    On([&] { status = trials_->RemoveTrial("owner", "rm").status(); });
    return status;
  };
  EXPECT_EQ(remove().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(remove().message()), HasSubstr(other + " waits to start from it"));
  EXPECT_THAT(std::string(remove().message()), HasSubstr("yard stop " + other));
  On([&] { ASSERT_TRUE(trials_->PauseTrial(other, "").ok()); });
  EXPECT_THAT(std::string(remove().message()), HasSubstr("yard resume " + other));
  EXPECT_TRUE(VerifyCheckpoint(checkpoint).ok());
  On([&] { ASSERT_TRUE(trials_->Stop(other, absl::ZeroDuration(), "").ok()); });
  EXPECT_TRUE(remove().ok()) << remove();
}

TEST_F(TrialCheckpointsTest, NothingOutsideTheRunIsReachedAndTheReportDoesNotCount) {
  const std::string id = Run(Request("r"));
  Put(directory_ + "/secret/w", "secret");
  Put(RunDirectory("r") + "/dir/file", "x");
  ASSERT_EQ(symlink((directory_ + "/secret").c_str(), (RunDirectory("r") + "/link").c_str()), 0);
  ASSERT_EQ(symlink("../../secret", (RunDirectory("r") + "/dir/link").c_str()), 0);
  for (const std::string& path :
       {std::string("../secret"), directory_ + "/secret", std::string("link"), std::string("."),
        RunDirectory("r"), RunDirectory("r") + "/dir/../../secret", std::string("dir/link"),
        std::string("dir"), std::string("dir/file"), std::string("params.json")}) {
    EXPECT_THAT(Report("j-1", 1, absl::StrCat(R"(,"seq":7,"ckpt":")", path, "\"")),
                HasSubstr(R"({"t":"error","seq":7,"code":"INVALID_ARGUMENT")"))
        << path;
    EXPECT_THAT(Say("j-1", EndLine(path)), HasSubstr("INVALID_ARGUMENT")) << path;
  }
  EXPECT_THAT(Report("j-1", 1, R"(,"ckpt":"none")"), HasSubstr("NOT_FOUND"));
  EXPECT_THAT(Say("j-1", EndLine("checkpoint_tmp123456")), HasSubstr("NOT_FOUND"));
  EXPECT_EQ(Get(id).reports, 0u);
  EXPECT_EQ(Get(id).checkpoint, "");
  EXPECT_THAT(Report("j-1", 1), HasSubstr("ok")) << "the channel goes on";
  EXPECT_EQ(Get(id).training_iteration, 1);
}

TEST_F(TrialCheckpointsTest, AfterAStopItMaySaveOnce) {
  const std::string id = Run(Request("r"));
  Report("j-1", 1);
  On([&] { EXPECT_TRUE(trials_->Stop(id, absl::ZeroDuration(), "").ok()); });
  Save("j-1", "before it was told");
  const std::string begun = Begin("j-1");
  EXPECT_THAT(Report("j-1", 1, absl::StrCat(R"(,"ckpt":")", begun, "\"")),
              HasSubstr(R"("t":"stop")"));
  EXPECT_THAT(Report("j-1", 1), HasSubstr(R"("t":"stop")"));
  EXPECT_EQ(Save("j-1", "last"), RunDirectory("r") + "/checkpoint_000003");
  EXPECT_THAT(Say("j-1", R"({"t":"ckpt_begin","seq":9})"), HasSubstr(R"({"t":"stop","seq":9,)"));
  Fail("j-1");
  EXPECT_EQ(Get(id).state, TrialState::Stopped);
  EXPECT_EQ(Read(Get(id).checkpoint + "/w"), "last");
}

TEST_F(TrialCheckpointsTest, ManyBegunAndNoneEndedAreRefused) {
  Run(Request("r"));
  for (int i = 0; i < 16; ++i) EXPECT_TRUE(IsTemporary(Begin("j-1")));
  EXPECT_THAT(Say("j-1", R"({"t":"ckpt_begin"})"), HasSubstr("FAILED_PRECONDITION"));
  EXPECT_THAT(Say("j-1", EndLine(Checkpoints("r")[0])), HasSubstr(R"("t":"ok")"));
  EXPECT_TRUE(IsTemporary(Begin("j-1")));
}

// A commit that is interrupted by a kill before its row is stored.
class CommitAgainTest : public testing::Test {
 protected:
  CommitAgainTest() {
    char name[] = "/tmp/ca-XXXXXX";
    directory_ = mkdtemp(name);
    store_ = *TrialStore::Open(directory_ + "/trainer.db");
    record_.number = 1;
    record_.run.experiment_id = "e";
    record_.spec.run_directory = directory_ + "/run";
  }
  ~CommitAgainTest() override { std::filesystem::remove_all(directory_); }

  TrialCheckpoints Checkpoints(const std::string& kill_at = "") {
    return TrialCheckpoints(record_, {store_.get(), [kill_at](std::string_view point) {
                                        if (point == kill_at) throw 9;
                                      }});
  }
  static TrialCheckpoints::Moment Line(int line) {
    TrialCheckpoints::Moment moment;
    moment.attempt = 1;
    moment.line = line;
    moment.number = 1;
    moment.iteration = 3;
    return moment;
  }
  std::string Begin(const std::string& content) {
    const std::string directory = *Checkpoints().Begin(8);
    EXPECT_TRUE(runtime::WriteFileAtomically(directory + "/w", content, 0644).ok());
    return directory;
  }
  std::string Content() {
    return runtime::ReadFile(record_.spec.run_directory + "/checkpoint_000008/w", 100)
        .value_or("missing");
  }
  int Directories() const {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(record_.spec.run_directory)) {
      count += entry.is_directory() ? 1 : 0;
    }
    return count;
  }

  std::string directory_;
  TrialRecord record_;
  std::unique_ptr<TrialStore> store_;
};

TEST_F(CommitAgainTest, ALineCommitsOnceWhereverItIsCutOff) {
  for (const char* point : {"before checkpoint rename", "after checkpoint rename", ""}) {
    std::filesystem::remove_all(record_.spec.run_directory);
    const std::string temporary = Begin("new");
    if (*point != '\0') {
      EXPECT_ANY_THROW((void)Checkpoints(point).End(temporary, Line(5)));
    } else {
      EXPECT_TRUE(Checkpoints().End(temporary, Line(5)).ok());
    }
    const auto row = Checkpoints().End(temporary, Line(5));
    ASSERT_TRUE(row.ok()) << point << ": " << row.status();
    EXPECT_EQ(row->name, "checkpoint_000008") << point;
    EXPECT_EQ(row->iteration, 3);
    EXPECT_GT(row->bytes, 3);
    EXPECT_EQ(Content(), "new") << point;
    EXPECT_EQ(Directories(), 1) << point;
    EXPECT_EQ(Checkpoints().End(temporary, Line(6)).status().code(), absl::StatusCode::kNotFound)
        << "another line did not commit it";
  }
}

TEST_F(CommitAgainTest, OneThatReplacesAnotherStaysTheNewOne) {
  for (const char* point : {"before checkpoint rename", "after checkpoint rename"}) {
    std::filesystem::remove_all(record_.spec.run_directory);
    ASSERT_TRUE(Checkpoints().End(Begin("old"), Line(2)).ok());
    const std::string temporary = Begin("new");
    EXPECT_ANY_THROW((void)Checkpoints(point).End(temporary, Line(5)));
    const auto row = Checkpoints().End(temporary, Line(5));
    ASSERT_TRUE(row.ok()) << point << ": " << row.status();
    EXPECT_EQ(Content(), "new") << point;
    EXPECT_EQ(Directories(), 1) << point;
  }
}

TEST_F(CommitAgainTest, ACopyOfAReportIsMadeOnce) {
  ASSERT_TRUE(runtime::MakeDirectories(record_.spec.run_directory + "/mine").ok());
  EXPECT_ANY_THROW((void)Checkpoints("after checkpoint rename").Named("mine", 8, Line(5), {}));
  const auto row = Checkpoints().Named("mine", 8, Line(5), {});
  ASSERT_TRUE(row.ok()) << row.status();
  EXPECT_EQ(row->name, "checkpoint_000008");
  EXPECT_EQ(Directories(), 2);
}

}  // namespace
}  // namespace trainer
