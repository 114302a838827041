// A trainer on a real disk of 4 MB that is full: trials wait, nothing is lost, and they go on when
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
#include <functional>
#include <map>
#include <memory>
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
#include "runtime/fake_clock.h"
#include "runtime/file.h"
#include "runtime/unique_fd.h"
#include "trainer/checkpoint_directory.h"
#include "trainer/testing/fake_jobs.h"
#include "trainer/testing/loop_thread.h"
#include "trainer/trials.h"

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
  bool has_state, has_runs;  // What lies on the small disk.
};

// Under root of a user and mount namespace of its own (see main).
class FullDiskTest : public testing::TestWithParam<Disks> {
 protected:
  void SetUp() override {
    if (const char* const why = getenv("FULL_DISK_TEST_CANNOT_MOUNT")) GTEST_SKIP() << why;
    char name[] = "/tmp/fd-XXXXXX";
    directory_ = mkdtemp(name);
    small_ = directory_ + "/small";
    ASSERT_TRUE(runtime::MakeDirectories(small_).ok());
    ASSERT_EQ(mount("tmpfs", small_.c_str(), "tmpfs", 0, "size=4m"), 0) << strerror(errno);
    state_ = (GetParam().has_state ? small_ : directory_) + "/state";
    runs_ = (GetParam().has_runs ? small_ : directory_) + "/runs";
    ASSERT_TRUE(runtime::MakeDirectories(state_).ok());
    ASSERT_TRUE(runtime::MakeDirectories(runs_).ok());
    Start();
  }
  ~FullDiskTest() override {
    if (loop_ != nullptr) Kill();
    killed_.clear();
    umount2(small_.c_str(), MNT_DETACH);
    std::filesystem::remove_all(directory_);
  }

  void Start() {
    loop_ = std::make_unique<LoopThread>(&clock_);
    jobs_.SetLoop(loop_->loop());
    for (auto& [id, job] : jobs_.jobs) job.follower = nullptr;
    auto store = Store::Open(state_ + "/trainer.db");
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
    auto trials = Trials::Open({.loop = loop_->loop(),
                                .clock = &clock_,
                                .store = store_.get(),
                                .jobs = &jobs_,
                                .logdir = runs_,
                                .relay = "/relay",
                                .hostname = "host",
                                .slots = 4});
    ASSERT_TRUE(trials.ok()) << trials.status();
    trials_ = *std::move(trials);
    trials_->OnWanted([this](const AttemptKey& attempt) {
      ++calls_;
      for (auto& [job, lines] : waiting_) {
        if (KeyOf(job) == attempt) Deliver(job);
      }
    });
    On([&] { trials_->Resume(); });
  }
  // As by SIGKILL: the store is not closed, which would empty its log.
  void Kill() {
    loop_->Stop();
    trials_.reset();
    killed_.push_back(std::move(store_));
    loop_.reset();
  }
  void On(const std::function<void()>& body) {
    loop_->Call(body);
    loop_->Settle();
  }
  void Advance(absl::Duration time) {
    for (absl::Duration step = absl::Milliseconds(50); time > absl::ZeroDuration(); time -= step) {
      clock_.Advance(step);
      loop_->Settle();
    }
  }

  // Not a byte is left.
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

  static msg::RunTrialRequestT Request(const std::string& name) {
    msg::RunTrialRequestT request;
    request.name = name;
    request.argv = {"prog"};
    request.working_directory = "/";
    request.options = std::make_unique<msg::TrialOptionsT>();
    return request;
  }
  absl::StatusOr<msg::TrialT> TryRun(const msg::RunTrialRequestT& request) {
    absl::StatusOr<msg::TrialT> trial;
    On([&] { trial = trials_->Run("request-" + request.name, request, ""); });
    return trial;
  }
  std::string Run(const std::string& name) { return TryRun(Request(name)).value().id; }
  msg::TrialT Get(const std::string& id) {
    msg::TrialT trial;
    On([&] { trial = *trials_->Get(id); });
    return trial;
  }

  AttemptKey KeyOf(const std::string& job) {
    return trials_->Greet(jobs_.jobs[job].spec.report_channel->nonce).value_or(AttemptKey());
  }
  // What the relay does with the lines of a job that are not answered yet.
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
  // True if it was answered at once.
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
  // Until there is no room for the next one, which waits.
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

  // Every report once and in order, wherever one looks.
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

  std::string directory_, small_, state_, runs_;
  runtime::FakeClock clock_;
  FakeJobs jobs_;
  std::unique_ptr<LoopThread> loop_;
  std::unique_ptr<Store> store_;
  std::vector<std::unique_ptr<Store>> killed_;
  std::unique_ptr<Trials> trials_;
  std::map<std::string, std::deque<RelayedLine>> waiting_;  // By job.
  std::map<std::string, std::vector<std::string>> answers_;
  std::map<std::string, std::int64_t> lines_;
  std::map<std::string, int> reports_;
  int calls_ = 0;  // For lines that were held back.
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
  Kill();
  Start();
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
    // Until its log has no place either.
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
  Kill();
  Start();
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
  Kill();
  Start();
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
  // Where the files were full the last report is in the store only, and was not answered.
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
INSTANTIATE_TEST_SUITE_P(Disks, FullStateDiskTest, testing::Values(kState, kBoth), NameOf);

// True if this may mount; else why not is in the environment.
bool MayMount() {
  const int status = system("unshare --user --map-root-user --mount true 2>/dev/null");
  if (status != -1 && WIFEXITED(status) && WEXITSTATUS(status) == 0) return true;
  setenv("FULL_DISK_TEST_CANNOT_MOUNT", "user and mount namespaces are not allowed here", 1);
  return false;
}

}  // namespace
}  // namespace trainer

// Runs the tests where they may mount: in namespaces of their own, made before any thread is.
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
