// A trainer on a real, full disk of 4 MB: trials wait, nothing is lost, and they continue once
// there is room.

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <deque>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "eventlog/event.h"
#include "eventlog/record.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/file/file.h"
#include "runtime/file/unique_fd.h"
#include "trainer/checkpoint/checkpoint_directory.h"
#include "trainer/table/trials.h"
#include "trainer/testing/trials_fixture.h"

namespace trainer {
namespace {

using msg::TrialState;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int kManyReports = 5000;

struct Disks {
  const char* name;
  bool has_state, has_runs;  // True for the parts that are on the small disk.
};

// Runs as root of its own user and mount namespace (see main()).
class FullDiskTest : public TrialsFixture, public testing::WithParamInterface<Disks> {
 protected:
  void SetUp() override {
    if (const char* const why = getenv("FULL_DISK_TEST_CANNOT_MOUNT")) {
      ASSERT_EQ(getenv("CI"), nullptr) << why;
      GTEST_SKIP() << why;
    }
    ASSERT_TRUE(runtime::MakeDirectories(small_).ok());
    ASSERT_EQ(mount("tmpfs", small_.c_str(), "tmpfs", 0, "size=4m"), 0) << strerror(errno);
    state_ = (GetParam().has_state ? small_ : directory_) + "/state";
    runs_ = (GetParam().has_runs ? small_ : directory_) + "/runs";
    ASSERT_TRUE(runtime::MakeDirectories(state_).ok());
    ASSERT_TRUE(runtime::MakeDirectories(runs_).ok());
    options_.logdir = runs_;
    options_.slots = 4;
    // Closing the store would empty its WAL.
    keeps_stores_open_ = true;
    on_wanted_ = [this](const AttemptKey& attempt) {
      ++calls_;
      for (auto& [job, lines] : waiting_) {
        if (KeyOf(job) == attempt) Deliver(job);
      }
    };
    Start();
  }
  ~FullDiskTest() override {
    if (loop_ != nullptr) Kill();
    killed_.clear();
    umount2(small_.c_str(), MNT_DETACH);
  }

  void Advance(absl::Duration time) {
    for (absl::Duration step = absl::Milliseconds(50); time > absl::ZeroDuration(); time -= step) {
      clock_.Advance(step);
      loop_->Settle();
    }
  }

  // Fills the disk to the last byte.
  void Fill() {
    const runtime::UniqueFd file(
        open((small_ + "/filler").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600));
    const std::string piece(64 << 10, 'x');
    for (std::size_t size = piece.size(); size > 0;) {
      if (write(file.get(), piece.data(), size) <= 0) size /= 2;
    }
    ASSERT_EQ(errno, ENOSPC);
  }
  void MakeRoom() { std::filesystem::remove(small_ + "/filler"); }

  // Delivers the unanswered lines of a job, as the relay does.
  void Deliver(const std::string& job) {
    std::deque<RelayedLine>& lines = waiting_[job];
    for (RelayedLine& line : lines) line.attempt = KeyOf(job);
    const auto answers = trials_->Receive({lines.begin(), lines.end()});
    for (const auto& answer : answers) {
      if (absl::IsUnavailable(answer.status())) break;
      answers_[job].push_back(answer.ok() ? *answer : answer.status().ToString());
      lines.pop_front();
    }
  }
  // Returns true if the line was answered at once.
  bool Say(const std::string& job, const std::string& text) {
    On([&] {
      waiting_[job].push_back({AttemptKey(), ++lines_[job], text, false});
      if (waiting_[job].size() == 1) Deliver(job);
    });
    return waiting_[job].empty();
  }
  bool Report(const std::string& job) {
    return Say(job, absl::StrCat(R"({"t":"report","m":{"value":)", ++reports_[job], R"(,"text":")",
                                 std::string(100, 'x'), "\"}}"));
  }
  // Reports until the next report lacks room and waits.
  void ReportUntilItWaits(const std::string& job) {
    for (int i = 0; i < kManyReports; ++i) {
      if (!Report(job)) return;
    }
    FAIL() << "the disk is not full";
  }
  std::string LastAnswer(const std::string& job) { return answers_[job].back(); }
  static std::string PathIn(const std::string& answer) {
    const std::vector<std::string> parts = absl::StrSplit(answer, "\"path\":\"");
    return parts.size() < 2 ? answer : parts[1].substr(0, parts[1].find('"'));
  }

  // Checks that every report exists once and in order in every place.
  void ExpectAllReportsOf(const std::string& job, const std::string& name) {
    std::vector<std::string> expected;
    for (int i = 1; i <= reports_[job]; ++i) expected.push_back(absl::StrCat(i));
    std::vector<std::string> found;
    for (std::int64_t row = 0;;) {
      const auto rows = *store_->RowsAfter(KeyOf(job).trial, row, 1000);
      if (rows.empty()) break;
      for (const ResultRow& one : rows) found.push_back(Between(one.metrics, "\"value\":", ","));
      row = rows.back().row;
    }
    EXPECT_EQ(found, expected) << "in the store";
    const std::string run = absl::StrCat(runs_, "/", name);
    found.clear();
    for (const auto line : absl::StrSplit(Read(run + "/result.json"), '\n', absl::SkipEmpty())) {
      found.push_back(Between(std::string(line), "\"value\":", ","));
    }
    EXPECT_EQ(found, expected) << "in result.json";
    found.clear();
    for (const auto line : absl::StrSplit(Read(run + "/progress.csv"), '\n', absl::SkipEmpty())) {
      found.emplace_back(line.substr(0, line.find(',')));
    }
    ASSERT_FALSE(found.empty());
    EXPECT_EQ(found.front(), "value");
    found.erase(found.begin());
    EXPECT_EQ(found, expected) << "in progress.csv";
    ExpectEvents(run, expected);
  }
  static void ExpectEvents(const std::string& run, const std::vector<std::string>& expected) {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(run)) {
      if (!absl::StrContains(entry.path().string(), "tfevents")) continue;
      const std::string bytes = Read(entry.path());
      std::string_view rest = bytes;
      while (!rest.empty()) {
        const eventlog::ParsedRecord record = eventlog::ParseRecord(rest);
        ASSERT_EQ(record.state, eventlog::ParsedRecord::State::kRecord);
        eventlog::Event event;
        ASSERT_TRUE(eventlog::DecodeEvent(record.payload, &event).ok());
        for (const auto& value : event.values) {
          if (value.tag == "value") found.push_back(absl::StrCat(*value.scalar));
        }
        rest.remove_prefix(record.size);
      }
    }
    EXPECT_EQ(found, expected) << "in the event file";
  }
  static std::string Between(const std::string& text, const std::string& begin, const char* end) {
    const std::size_t at = text.find(begin) + begin.size();
    return text.substr(at, text.find(end, at) - at);
  }
  static std::string Read(const std::string& path) {
    return runtime::ReadFile(path, 64 << 20).value_or("missing: " + path);
  }

  const std::string small_ = directory_ + "/small";
  std::string runs_;
  std::map<std::string, std::deque<RelayedLine>> waiting_;  // By job.
  std::map<std::string, std::vector<std::string>> answers_;
  std::map<std::string, std::int64_t> lines_;
  std::map<std::string, int> reports_;
  int calls_ = 0;  // Requests for lines that were held back.
};

class FullRunDiskTest : public FullDiskTest {};
class FullStateDiskTest : public FullDiskTest {};

TEST_P(FullDiskTest, ProgramsWaitAndTheirReportsAreThereOnceWhenThereIsRoom) {
  const std::string first = Run("a"), second = Run("b");
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(Report("j-1"));
    ASSERT_TRUE(Report("j-2"));
  }
  Fill();
  ReportUntilItWaits("j-1");
  ReportUntilItWaits("j-2");
  for (int i = 0; i < 3; ++i) Report("j-1");
  const std::string where = GetParam().has_state ? state_ : runs_;
  EXPECT_EQ(Get(first).state, TrialState::Running);
  EXPECT_THAT(Get(first).reason, HasSubstr("no room on the disk of " + where));
  EXPECT_THAT(Get(first).reason, HasSubstr(": 0 bytes free"));

  calls_ = 0;
  const std::size_t answered = answers_["j-1"].size();
  Advance(absl::Seconds(60));
  EXPECT_GE(calls_, 100);
  EXPECT_LE(calls_, 140) << "both trials are tried once a second, not all the time";
  EXPECT_EQ(answers_["j-1"].size(), answered);
  EXPECT_THAT(waiting_["j-1"], SizeIs(4));

  MakeRoom();
  Advance(absl::Seconds(1));
  EXPECT_EQ(Get(first).reason, "");
  for (const char* const job : {"j-1", "j-2"}) {
    EXPECT_THAT(waiting_[job], IsEmpty());
    EXPECT_THAT(answers_[job], testing::AllOf(SizeIs(static_cast<std::size_t>(reports_[job])),
                                              testing::Each(R"({"t":"ok","events":[]})")));
    ASSERT_TRUE(Report(job)) << "it goes on";
  }
  ExpectAllReportsOf("j-1", "a");
  ExpectAllReportsOf("j-2", "b");
  EXPECT_EQ(Get(second).reports, static_cast<std::uint64_t>(reports_["j-2"]));
}

TEST_P(FullDiskTest, ATrainerThatIsKilledMeanwhileLosesNothing) {
  const std::string id = Run("a");
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(Report("j-1"));
  Fill();
  ReportUntilItWaits("j-1");
  Restart();
  On([&] { Deliver("j-1"); });
  EXPECT_THAT(waiting_["j-1"], SizeIs(1));
  EXPECT_THAT(Get(id).reason, HasSubstr("no room on the disk of "));
  MakeRoom();
  Advance(absl::Seconds(1));
  EXPECT_THAT(waiting_["j-1"], IsEmpty());
  ExpectAllReportsOf("j-1", "a");
}

TEST_P(FullDiskTest, ACheckpointWaitsAndIsWholeAndThereOnce) {
  const std::string id = Run("a");
  ASSERT_TRUE(Report("j-1"));
  ASSERT_TRUE(Say("j-1", R"({"t":"ckpt_begin","step":7})"));
  const std::string path = PathIn(LastAnswer("j-1"));
  const std::string weights(300'000, 'w');
  ASSERT_TRUE(runtime::WriteFileAtomically(path + "/w", weights, 0644).ok());
  Fill();
  if (GetParam().has_state) {
    // Report until the WAL has no room either.
    ReportUntilItWaits("j-1");
    Say("j-1", absl::StrCat(R"({"t":"ckpt_end","path":")", path, "\"}"));
  } else {
    EXPECT_FALSE(Say("j-1", absl::StrCat(R"({"t":"ckpt_end","path":")", path, "\"}")));
  }
  Say("j-1", R"({"t":"ckpt_begin"})");
  Advance(absl::Seconds(3));
  EXPECT_THAT(waiting_["j-1"], testing::Not(IsEmpty()));
  EXPECT_THAT(Get(id).reason, HasSubstr("no room"));
  EXPECT_EQ(Get(id).checkpoint, "");

  MakeRoom();
  Advance(absl::Seconds(1));
  EXPECT_THAT(waiting_["j-1"], IsEmpty());
  const std::vector<std::string>& answers = answers_["j-1"];
  const std::string checkpoint = runs_ + "/a/checkpoint_000007";
  EXPECT_EQ(PathIn(answers[answers.size() - 2]), checkpoint);
  EXPECT_TRUE(IsTemporary(PathIn(answers.back())));
  EXPECT_TRUE(VerifyCheckpoint(checkpoint).ok()) << VerifyCheckpoint(checkpoint);
  EXPECT_EQ(Read(checkpoint + "/w"), weights);
  EXPECT_THAT(*store_->Checkpoints(KeyOf("j-1").trial), SizeIs(1));
  ExpectAllReportsOf("j-1", "a");
}

TEST_P(FullRunDiskTest, AChangeOfTheConfigurationWaitsUntilItIsInTheFile) {
  Run("a");
  ASSERT_TRUE(Report("j-1"));
  Fill();
  EXPECT_FALSE(Say("j-1", R"({"t":"config","c":{"lr":0.1},"seq":5})"));
  Advance(absl::Seconds(3));
  EXPECT_THAT(waiting_["j-1"], SizeIs(1));
  EXPECT_EQ(Read(runs_ + "/a/params.json"), "{}\n");
  MakeRoom();
  Advance(absl::Seconds(1));
  EXPECT_THAT(waiting_["j-1"], IsEmpty());
  EXPECT_EQ(LastAnswer("j-1"), R"({"t":"ok","seq":5,"events":[]})");
  EXPECT_EQ(Read(runs_ + "/a/params.json"), "{\n  \"lr\": 0.1\n}\n");
  EXPECT_EQ(store_->LoadTrial(1)->spec.config, R"({"lr":0.1})");
}

TEST_P(FullRunDiskTest, AChangeOfTheConfigurationIsInTheFileOfATrialThatEndedMeanwhile) {
  const std::string id = Run("a");
  ASSERT_TRUE(Report("j-1"));
  Fill();
  EXPECT_FALSE(Say("j-1", R"({"t":"config","c":{"lr":0.1},"seq":5})"));
  On([&] { EXPECT_TRUE(trials_->Stop(id, absl::Seconds(5), "").ok()); });
  On([&] { jobs_.End("j-1", 1); });
  Advance(absl::Seconds(3));
  EXPECT_EQ(Get(id).state, TrialState::Stopped);
  Restart();
  Advance(absl::Seconds(3));
  EXPECT_EQ(Read(runs_ + "/a/params.json"), "{}\n");
  MakeRoom();
  Advance(absl::Seconds(2));
  // (If its state had no room either, the shim still has the line.)
  if (GetParam().has_state) On([&] { Deliver("j-1"); });
  EXPECT_EQ(Read(runs_ + "/a/params.json"), "{\n  \"lr\": 0.1\n}\n");
}

TEST_P(FullDiskTest, AStopLeavesItsGraceToAnAttachedProcess) {
  AttemptKey attempt;
  std::string id;
  On([&] {
    const auto key = trials_->Attach({.nonce = "n1", .pid = 17, .request = R"({"name":"a"})"});
    ASSERT_TRUE(key.ok()) << key.status();
    attempt = *key;
    trials_->OnConnection(attempt, true);
    id = trials_->Find("a").value_or("");
  });
  const auto say = [&](std::int64_t number) {
    std::string answer;
    const std::string text =
        absl::StrCat(R"({"t":"report","m":{"text":")", std::string(100, 'x'), "\"}}");
    On([&] { answer = TextOf(trials_->Receive({{attempt, number, text, false}}).front()); });
    return answer;
  };
  Fill();
  std::int64_t number = 1;
  while (number < kManyReports && say(number) == R"({"t":"ok","events":[]})") ++number;
  ASSERT_THAT(Get(id).reason, HasSubstr("no room"));
  On([&] { EXPECT_TRUE(trials_->Stop(id, absl::Seconds(60), "").ok()); });
  Advance(absl::Seconds(50));
  EXPECT_EQ(Get(id).state, TrialState::Stopping);
  MakeRoom();
  Advance(absl::Seconds(2));
  EXPECT_THAT(say(number), HasSubstr(R"({"t":)")) << "it may have been stored before the stop";
  EXPECT_THAT(say(number + 1), HasSubstr(R"("t":"stop")"));
  Advance(absl::Seconds(10));
  EXPECT_EQ(Get(id).state, TrialState::Stopped);
}

TEST_P(FullDiskTest, AStopIsCarriedOutAtOnceAndStoredLater) {
  const std::string id = Run("a");
  Report("j-1");
  Fill();
  ReportUntilItWaits("j-1");
  On([&] { EXPECT_TRUE(trials_->Stop(id, absl::Seconds(5), "").ok()); });
  EXPECT_THAT(jobs_.jobs["j-1"].stops, ElementsAre(absl::Seconds(5)))
      << "its program cannot be told with an answer";
  On([&] { jobs_.End("j-1", 1); });
  Advance(absl::Seconds(3));
  EXPECT_EQ(Get(id).state, TrialState::Stopped);
  MakeRoom();
  Advance(absl::Seconds(2));
  Restart();
  EXPECT_EQ(Get(id).state, TrialState::Stopped);
  On([&] { Deliver("j-1"); });
  EXPECT_THAT(waiting_["j-1"], IsEmpty()) << "what its shim still has, counts";
  ExpectAllReportsOf("j-1", "a");
}

TEST_P(FullDiskTest, APauseIsCarriedOutAtOnceAndTheTrialGoesOnLater) {
  const std::string id = Run("a");
  Report("j-1");
  Fill();
  ReportUntilItWaits("j-1");
  On([&] { EXPECT_TRUE(trials_->PauseTrial(id, "").ok()); });
  EXPECT_THAT(jobs_.jobs["j-1"].stops, SizeIs(1));
  On([&] { jobs_.KillShim("j-1"); });
  EXPECT_EQ(Get(id).state, TrialState::Paused);
  EXPECT_EQ(Get(id).reason, "it was asked to pause");
  MakeRoom();
  Advance(absl::Seconds(2));
  Restart();
  EXPECT_EQ(Get(id).state, TrialState::Paused);
  On([&] { EXPECT_TRUE(trials_->ResumeTrial(id).ok()); });
  EXPECT_EQ(Get(id).job, "j-2");
  reports_["j-2"] = static_cast<int>(Get(id).reports);
  ASSERT_TRUE(Report("j-2"));
  ExpectAllReportsOf("j-2", "a");
}

TEST_P(FullDiskTest, WhatCouldNotBeWrittenOfOneThatFailedIsWrittenLater) {
  const std::string id = Run("a");
  Report("j-1");
  Fill();
  ReportUntilItWaits("j-1");
  waiting_["j-1"].clear();
  On([&] { jobs_.KillShim("j-1"); });
  Advance(absl::Seconds(3));
  EXPECT_EQ(Get(id).state, TrialState::Failed);
  MakeRoom();
  Advance(absl::Seconds(2));
  EXPECT_THAT(Read(runs_ + "/a/error.txt"), HasSubstr("Failure # 1"));
  EXPECT_THAT(*store_->Failures(KeyOf("j-1").trial, 10), SizeIs(1));
  // Where the files were full, the last report is only in the store, and was not answered.
  reports_["j-1"] = static_cast<int>(Get(id).reports);
  ExpectAllReportsOf("j-1", "a");
}

TEST_P(FullDiskTest, OneThatEndedWithoutRoomIsPutRightByTheNextTrainer) {
  const std::string id = Run("a");
  Report("j-1");
  Fill();
  ReportUntilItWaits("j-1");
  waiting_["j-1"].clear();
  On([&] { jobs_.KillShim("j-1"); });
  Kill();
  MakeRoom();
  Start();
  Advance(absl::Seconds(5));
  EXPECT_EQ(Get(id).state, TrialState::Failed);
  reports_["j-1"] = static_cast<int>(Get(id).reports);
  ExpectAllReportsOf("j-1", "a");
}

TEST_P(FullDiskTest, OneThatWaitsForRoomIsNotTakenForDead) {
  msg::RunTrialRequestT request = Request("a");
  request.options->heartbeat_ms = 200;
  const std::string id = TryRun(request).value().id;
  Report("j-1");
  Fill();
  ReportUntilItWaits("j-1");
  Advance(absl::Seconds(5));
  EXPECT_EQ(Get(id).state, TrialState::Running);
  EXPECT_THAT(jobs_.jobs["j-1"].stops, IsEmpty());
  MakeRoom();
  Advance(absl::Seconds(2));
  EXPECT_THAT(jobs_.jobs["j-1"].stops, SizeIs(1)) << "now it is silent";
}

TEST_P(FullRunDiskTest, ACopyForWhichThereIsNoRoomIsMadeWhenThereIs) {
  const std::string id = Run("a");
  ASSERT_TRUE(runtime::MakeDirectories(runs_ + "/a/own").ok());
  const std::string weights(1 << 20, 'w');
  ASSERT_TRUE(runtime::WriteFileAtomically(runs_ + "/a/own/w", weights, 0644).ok());
  Fill();
  EXPECT_FALSE(Say("j-1", R"({"t":"report","m":{"loss":1},"step":3,"ckpt":"own"})"));
  EXPECT_THAT(Get(id).reason, HasSubstr("no room"));
  EXPECT_EQ(Get(id).reports, 0u);
  MakeRoom();
  Advance(absl::Seconds(1));
  EXPECT_EQ(PathIn(LastAnswer("j-1")), runs_ + "/a/checkpoint_000003");
  EXPECT_TRUE(VerifyCheckpoint(runs_ + "/a/checkpoint_000003").ok());
  EXPECT_EQ(Get(id).reports, 1u);
}

TEST_P(FullRunDiskTest, ATrialThatWaitsForRoomForItsStartKeepsNobodyWaiting) {
  const std::string large = directory_ + "/large", huge = directory_ + "/huge";
  const std::string sparse = directory_ + "/sparse";
  for (const std::string& directory : {large, huge, sparse}) {
    ASSERT_TRUE(runtime::MakeDirectories(directory).ok());
    ASSERT_TRUE(runtime::WriteFileAtomically(directory + "/.is_checkpoint", "", 0644).ok());
  }
  ASSERT_TRUE(runtime::WriteFileAtomically(large + "/w", std::string(2 << 20, 'w'), 0644).ok());
  ASSERT_TRUE(runtime::WriteFileAtomically(huge + "/w", std::string(5 << 20, 'w'), 0644).ok());
  ASSERT_TRUE(runtime::WriteFileAtomically(sparse + "/w", "w", 0644).ok());
  std::filesystem::resize_file(sparse + "/w", std::uintmax_t{1} << 40);
  ASSERT_TRUE(
      runtime::WriteFileAtomically(small_ + "/filler", std::string(3 << 20, 'f'), 0644).ok());
  const auto run = [&](const std::string& name, const std::string& restore) {
    msg::RunTrialRequestT request = Request(name);
    request.options->restore = restore;
    return Run(request);
  };
  const std::string waits = run("large", large), fails = run("huge", huge);
  const std::string behind = Run("behind"), holes = run("holes", sparse);
  loop_->Settle();
  EXPECT_EQ(Get(waits).state, TrialState::Pending);
  EXPECT_THAT(Get(waits).reason, HasSubstr("no room on the disk of "));
  EXPECT_EQ(Get(fails).state, TrialState::Failed);
  EXPECT_THAT(Get(fails).reason, HasSubstr("a copy of " + huge + " needs "));
  EXPECT_THAT(Get(fails).reason, HasSubstr(" is smaller: it has 4194304 in all"));
  EXPECT_EQ(Get(behind).state, TrialState::Running);
  EXPECT_EQ(Get(holes).state, TrialState::Running) << "holes need no room: " << Get(holes).reason;
  MakeRoom();
  Advance(absl::Seconds(1));
  EXPECT_EQ(Get(waits).state, TrialState::Running);
  EXPECT_EQ(Get(waits).reason, "");
}

TEST_P(FullDiskTest, ATrialStartsWhenThereIsRoom) {
  for (const char* const name : {"a", "b", "c", "d"}) Run(name);
  const std::string id = Run("e");
  Fill();
  if (GetParam().has_state) ReportUntilItWaits("j-2");
  On([&] { jobs_.KillShim("j-1"); });
  Advance(absl::Seconds(3));
  EXPECT_EQ(Get(id).state, TrialState::Pending);
  EXPECT_THAT(Get(id).reason, HasSubstr("no room on the disk of "));
  EXPECT_EQ(jobs_.jobs.count("j-5"), 0u);
  MakeRoom();
  Advance(absl::Seconds(2));
  EXPECT_EQ(Get(id).state, TrialState::Running);
  EXPECT_EQ(Get(id).reason, "");
}

// A trial whose reports are read from its output and wait: there is no channel to tell its program.
class FullOutputDiskTest : public FullDiskTest {
 protected:
  // One transaction of these lines does not fit into the remaining room.
  static constexpr int kOutputLines = 2000;

  std::string RunWithOutput() {
    msg::RunTrialRequestT request = Request("a");
    request.options->output_reports = "values";
    const std::string id = TryRun(request).value().id;
    Run("b");
    std::string output;
    for (int i = 0; i < kOutputLines; ++i) output += "loss=1\n";
    EXPECT_TRUE(runtime::WriteFileAtomically(runs_ + "/a/worker-0.1.stdout", output, 0644).ok());
    Fill();
    ReportUntilItWaits("j-2");
    Advance(absl::Seconds(1));
    EXPECT_THAT(Get(id).reason, HasSubstr("no room on the disk of "));
    return id;
  }
  void Stop(const std::string& id) {
    On([&] { EXPECT_TRUE(trials_->Stop(id, absl::Seconds(5), "").ok()); });
  }
};

constexpr char kLost[] =
    "it was asked to stop; there was no room for the reports in the last 14000 bytes of its output";

TEST_P(FullOutputDiskTest, AStopEndsWithinItsGraceAndSaysWhatIsNotStored) {
  const std::string id = RunWithOutput();
  Stop(id);
  EXPECT_THAT(jobs_.jobs["j-1"].stops, ElementsAre(absl::Seconds(5)));
  On([&] { jobs_.End("j-1", 143); });
  Advance(absl::Seconds(4));
  EXPECT_EQ(Get(id).state, TrialState::Stopping) << "there may be room by then";
  Advance(absl::Seconds(2));
  EXPECT_EQ(Get(id).state, TrialState::Stopped);
  EXPECT_EQ(Get(id).reason, kLost);
  MakeRoom();
  Advance(absl::Seconds(2));
  EXPECT_EQ(Get(id).reports, 0u);
}

TEST_P(FullOutputDiskTest, OneWhoseProgramHasEndedWaitsUntilItIsStopped) {
  const std::string id = RunWithOutput();
  On([&] { jobs_.End("j-1", 0); });
  Advance(absl::Seconds(60));
  EXPECT_EQ(Get(id).state, TrialState::Running);
  Stop(id);
  Advance(absl::Seconds(6));
  EXPECT_EQ(Get(id).state, TrialState::Stopped);
  EXPECT_EQ(Get(id).reason, kLost);
}

TEST_P(FullOutputDiskTest, NothingIsLostIfThereIsRoomWithinTheGrace) {
  const std::string id = RunWithOutput();
  Stop(id);
  On([&] { jobs_.End("j-1", 143); });
  Advance(absl::Seconds(2));
  MakeRoom();
  Advance(absl::Seconds(2));
  EXPECT_EQ(Get(id).state, TrialState::Stopped);
  EXPECT_EQ(Get(id).reason, "it was asked to stop");
  EXPECT_EQ(Get(id).reports, std::uint64_t{kOutputLines});
}

TEST_P(FullStateDiskTest, ATrialThatCannotBeStoredIsRefused) {
  Fill();
  absl::Status status;
  for (int i = 0; i < 1000 && status.ok(); ++i) {
    status = TryRun(Request(absl::StrCat("x", i))).status();
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("full"));
  MakeRoom();
  EXPECT_NE(Run("a"), "");
}

constexpr Disks kRuns = {"Runs", false, true}, kState = {"State", true, false},
                kBoth = {"Both", true, true};
std::string NameOf(const testing::TestParamInfo<Disks>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Disks, FullDiskTest, testing::Values(kRuns, kState, kBoth), NameOf);
INSTANTIATE_TEST_SUITE_P(Disks, FullRunDiskTest, testing::Values(kRuns, kBoth), NameOf);
INSTANTIATE_TEST_SUITE_P(Disks, FullOutputDiskTest, testing::Values(kState), NameOf);
INSTANTIATE_TEST_SUITE_P(Disks, FullStateDiskTest, testing::Values(kState, kBoth), NameOf);

// Returns true if mounting is allowed; otherwise the reason is in the environment.
bool MayMount() {
  const int status = system("unshare --user --map-root-user --mount true 2>/dev/null");
  if (status != -1 && WIFEXITED(status) && WEXITSTATUS(status) == 0) return true;
  setenv("FULL_DISK_TEST_CANNOT_MOUNT", "user and mount namespaces are not allowed here", 1);
  return false;
}

}  // namespace
}  // namespace trainer

// Runs the tests, where mounting is allowed in new namespaces, which must be created before any
// thread.
int main(int argc, char** argv) {
  constexpr char kInside[] = "FULL_DISK_TEST_IS_INSIDE";
  if (getenv(kInside) == nullptr && trainer::MayMount()) {
    setenv(kInside, "1", 1);
    std::vector<char*> words = {const_cast<char*>("unshare"), const_cast<char*>("--user"),
                                const_cast<char*>("--map-root-user"), const_cast<char*>("--mount")};
    words.insert(words.end(), argv, argv + argc);
    words.push_back(nullptr);
    execvp(words[0], words.data());
    perror("cannot run unshare");
    return 1;
  }
  testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
