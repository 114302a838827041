#include "launcher/job_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bus/call/service.h"
#include "bus/schema/launcher_methods.h"
#include "launcher/fixtures/testing_table.h"
#include "launcher/log/follow_pace.h"
#include "launcher/share/resources.h"
#include "launcher/wire/log_files.h"
#include "launcher/wire/log_times.h"
#include "runtime/file/file.h"
#include "runtime/mutex.h"

namespace launcher {
namespace {

using ::testing::StartsWith;

// A caller that stores the parts that it gets, and accepts no more than `room`.
class FakeCaller : public bus::Responder {
 public:
  const bus::CallContext& context() const override { return context_; }
  absl::Status SendPart(msg::EnvelopeT part) override {
    runtime::MutexLock lock(mutex_);
    if (gone_) return absl::CancelledError("the caller has gone");
    if (room_ == 0) return absl::ResourceExhaustedError("full");
    --room_;
    Keep(std::move(part));
    return absl::OkStatus();
  }
  void WhenWritable(std::function<void()> writable) override {
    runtime::MutexLock lock(mutex_);
    writable_ = std::move(writable);
    changed_.SignalAll();
  }
  void Finish(absl::StatusOr<msg::EnvelopeT> reply) override {
    if (on_finish_) on_finish_();
    runtime::MutexLock lock(mutex_);
    end_ = reply.status();
    if (reply.ok()) Keep(*std::move(reply));
    changed_.SignalAll();
  }
  bool cancelled() const override { return false; }
  void OnCancel(std::function<void()> cancelled) override { cancel_ = std::move(cancelled); }

  // Sets a function that runs on the thread of the call before the end is announced.
  void OnFinish(std::function<void()> on_finish) { on_finish_ = std::move(on_finish); }
  // Waits for the end of the call; the next functions wait for parts of it.
  std::optional<absl::Status> AwaitEnd() {
    Await([this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return end_.has_value(); });
    runtime::MutexLock lock(mutex_);
    return end_;
  }
  bool AwaitText(msg::LogStream stream, const std::string& text) {
    return Await([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return text_[static_cast<int>(stream)].find(text) != std::string::npos;
    });
  }
  bool AwaitReason(const std::string& reason) {
    return Await([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return !reasons_.empty() && reasons_.back() == reason;
    });
  }
  bool AwaitFull() {
    return Await([this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return writable_ != nullptr; });
  }
  void MakeRoom(int parts) {
    std::function<void()> writable;
    {
      runtime::MutexLock lock(mutex_);
      room_ = parts;
      writable = std::exchange(writable_, nullptr);
    }
    if (writable) writable();
  }
  void Leave() {
    {
      runtime::MutexLock lock(mutex_);
      gone_ = true;
    }
    cancel_();
  }
  std::string text(msg::LogStream stream) {
    runtime::MutexLock lock(mutex_);
    return text_[static_cast<int>(stream)];
  }
  std::vector<msg::TaskState> states() {
    runtime::MutexLock lock(mutex_);
    return states_;
  }

 private:
  bool Await(const std::function<bool()>& condition) {
    const absl::Time deadline = absl::Now() + absl::Seconds(20);
    runtime::MutexLock lock(mutex_);
    while (!condition()) {
      if (!changed_.WaitWithTimeout(mutex_, deadline - absl::Now())) return condition();
    }
    return true;
  }
  void Keep(msg::EnvelopeT envelope) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (auto* logs = envelope.body.AsLogsReply()) {
      text_[static_cast<int>(logs->stream)].append(logs->data.begin(), logs->data.end());
    }
    if (auto* wait = envelope.body.AsWaitJobReply()) {
      states_.push_back(wait->job->state);
      reasons_.push_back(wait->job->reason);
    }
    changed_.SignalAll();
  }

  const bus::CallContext context_ = {};
  std::function<void()> on_finish_;
  runtime::Mutex mutex_;
  runtime::CondVar changed_;
  int room_ ABSL_GUARDED_BY(mutex_) = 1 << 30;
  bool gone_ ABSL_GUARDED_BY(mutex_) = false;
  std::function<void()> writable_ ABSL_GUARDED_BY(mutex_);
  std::function<void()> cancel_;
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(mutex_);
  std::string text_[2] ABSL_GUARDED_BY(mutex_);
  std::vector<msg::TaskState> states_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> reasons_ ABSL_GUARDED_BY(mutex_);
};

class JobCallsTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(yard_.Open().ok()); }

  std::string Launch(const std::string& script) {
    auto job = yard_.Launch(yard_.Shell(script));
    EXPECT_TRUE(job.ok()) << job.status();
    return job.ok() ? job->id : "";
  }
  JobCallContext Context() {
    return {yard_.table(), yard_.loop(), yard_.state_directory(),
            std::make_shared<FollowPace>(yard_.loop(), pace_)};
  }
  void Logs(const std::string& job, const msg::LogsRequestT& request) {
    yard_.OnLoop([&] {
      StartLogCall(Context(), {job, kWholeJob}, request,
                   std::make_shared<bus::ReplyWriter<rpc::Launcher::Logs>>(caller_));
    });
  }
  void Wait(const std::string& job) {
    yard_.OnLoop([&] {
      StartWaitCall(Context(), job,
                    std::make_shared<bus::ReplyWriter<rpc::Launcher::WaitJob>>(caller_));
    });
  }
  // Returns an attempt of the only job, which has one task.
  msg::AttemptT AttemptOf(std::size_t index) {
    return *yard_.List().at(0).tasks.at(0)->attempts.at(index);
  }
  std::string TimesPath(const std::string& job, int attempt) {
    return absl::StrCat(yard_.state_directory(), "/jobs/", job, "/worker-0.", attempt,
                        "/stdout.times");
  }
  // Adds a record to the index that replaces the shim's.
  void NoteGrowth(const std::string& path, std::int64_t time_us, std::uint64_t offset) {
    LogTimes(path).Note(time_us, offset);
  }
  absl::StatusCode CodeOf(const std::string& job, const msg::LogsRequestT& request) {
    Logs(job, request);
    return caller_->AwaitEnd().value_or(absl::OkStatus()).code();
  }
  // Launches a job with three attempts, each of which writes its number.
  std::string LaunchThreeAttempts(const std::string& more = "") {
    auto spec = yard_.Shell(absl::StrCat("echo x >> $FOLDER/n; echo try $(wc -l < $FOLDER/n);",
                                         more, "[ $(wc -l < $FOLDER/n) -ge 3 ]"));
    spec.restart = msg::RestartPolicy::OnFailure;
    spec.max_restarts = 5;
    const auto job = yard_.Launch(spec);
    EXPECT_TRUE(job.ok()) << job.status();
    return job.ok() ? job->id : "";
  }
  void LetGo() { ASSERT_TRUE(runtime::WriteFileAtomically(yard_.folder() + "/go", "", 0600).ok()); }
  std::string Out() { return caller_->text(msg::LogStream::Stdout); }
  static constexpr char kUntilGo[] = "while [ ! -e $FOLDER/go ]; do sleep 0.01; done;";

  TestingTable yard_;
  FollowPace::Options pace_;
  const std::shared_ptr<FakeCaller> caller_ = std::make_shared<FakeCaller>();
};

TEST_F(JobCallsTest, AJobThatWaitsForResourcesHearsWhoHasThemNow) {
  yard_.Close();
  yard_.SetResources({*ParseResource("gpu=0")});
  ASSERT_TRUE(yard_.Open().ok());
  auto spec = yard_.Shell(kUntilGo);
  spec.groups.push_back(std::make_unique<msg::TaskGroupT>());
  spec.groups.back()->type = "worker";
  spec.groups.back()->resources.push_back(std::make_unique<msg::ResourceRequestT>());
  spec.groups.back()->resources.back()->name = "gpu";
  spec.groups.back()->resources.back()->amount = 1;
  std::vector<std::string> jobs;
  for (int i = 0; i < 3; ++i) {
    const auto job = yard_.Launch(spec);
    ASSERT_TRUE(job.ok()) << job.status();
    jobs.push_back(job->id);
  }
  Wait(jobs[2]);
  const auto used_by = [](const std::string& job) {
    return absl::StrCat("waits for gpu: 1 of 1 is used by ", job, "/worker-0");
  };
  EXPECT_TRUE(caller_->AwaitReason(used_by(jobs[0])));
  ASSERT_TRUE(yard_.Stop(jobs[0], absl::Seconds(1)).ok());
  EXPECT_TRUE(caller_->AwaitReason(used_by(jobs[1])));
  LetGo();
  ASSERT_TRUE(caller_->AwaitEnd().has_value());
  EXPECT_EQ(caller_->states().back(), msg::TaskState::Exited);
}

TEST_F(JobCallsTest, FollowSendsEveryByteAndEndsWithTheJob) {
  const std::string job =
      Launch(absl::StrCat("printf 'a\\000\\n'; echo err >&2;", kUntilGo, "printf 'no newline'"));
  msg::LogsRequestT request;
  request.follow = true;
  Logs(job, request);
  ASSERT_TRUE(caller_->AwaitText(msg::LogStream::Stderr, "err\n"));
  LetGo();
  ASSERT_TRUE(caller_->AwaitEnd().has_value());
  EXPECT_TRUE(caller_->AwaitEnd()->ok());
  EXPECT_EQ(Out(), std::string("a\0\nno newline", 13));
}

TEST_F(JobCallsTest, FollowSendsWhatHasNoNewlineAsItComes) {
  const std::string job = Launch(absl::StrCat("printf 'a line\n\rstep 1';", kUntilGo, "echo"));
  msg::LogsRequestT request;
  request.follow = true;
  Logs(job, request);
  EXPECT_TRUE(caller_->AwaitText(msg::LogStream::Stdout, "a line\n\rstep 1"));
  LetGo();
  ASSERT_TRUE(caller_->AwaitEnd().has_value());
  EXPECT_EQ(Out(), "a line\n\rstep 1\n");
}

TEST_F(JobCallsTest, FollowersOfAJobThatRunsGetOnlyWhatTheirPaceLeavesThem) {
  pace_ = {.turn = absl::Hours(1), .bytes_a_turn = 1};
  const std::string job = Launch(absl::StrCat("seq 1 100000; echo all >&2;", kUntilGo));
  ASSERT_TRUE(yard_.AwaitInFile(yard_.List()[0].tasks[0]->stderr_path, "all"));
  msg::LogsRequestT request;
  request.follow = true;
  Logs(job, request);
  ASSERT_TRUE(caller_->AwaitText(msg::LogStream::Stdout, "1\n2\n"));
  yard_.OnLoop([] {});
  EXPECT_LE(Out().size(), 64 * 1024);
  LetGo();
  ASSERT_TRUE(caller_->AwaitEnd().has_value());
  EXPECT_TRUE(caller_->AwaitEnd()->ok());
  EXPECT_THAT(Out(), ::testing::EndsWith("\n99999\n100000\n"));
  EXPECT_EQ(Out().size(), 588895);
}

TEST_F(JobCallsTest, AFollowerGoesOnTurnByTurn) {
  pace_ = {.turn = absl::Milliseconds(1), .bytes_a_turn = 1000};
  const std::string job = Launch(absl::StrCat("seq 1 100000; echo all >&2;", kUntilGo));
  msg::LogsRequestT request;
  request.follow = true;
  Logs(job, request);
  EXPECT_TRUE(caller_->AwaitText(msg::LogStream::Stdout, "\n100000\n"));
  LetGo();
  EXPECT_TRUE(caller_->AwaitEnd().has_value());
}

TEST_F(JobCallsTest, FollowGoesOnWithTheNextAttempt) {
  auto spec = yard_.Shell(
      "echo x >> $FOLDER/n; echo try $(wc -l < $FOLDER/n); [ $(wc -l < $FOLDER/n) = 2 ]");
  spec.restart = msg::RestartPolicy::OnFailure;
  spec.max_restarts = 3;
  const auto job = yard_.Launch(spec);
  ASSERT_TRUE(job.ok());
  msg::LogsRequestT request;
  request.follow = true;
  Logs(job->id, request);
  ASSERT_TRUE(caller_->AwaitEnd().has_value());
  EXPECT_TRUE(caller_->AwaitText(msg::LogStream::Stdout, "try 2\n"));
}

TEST_F(JobCallsTest, WithoutFollowItEndsAtWhatIsThere) {
  const std::string job = Launch(absl::StrCat("echo one; printf half;", kUntilGo));
  ASSERT_TRUE(yard_.AwaitRunning(job));
  ASSERT_TRUE(yard_.AwaitInFile(yard_.List()[0].tasks[0]->stdout_path, "half"));
  Logs(job, {});
  ASSERT_TRUE(caller_->AwaitEnd().has_value());
  EXPECT_EQ(Out(), "one\nhalf");
}

TEST_F(JobCallsTest, ARotatedLogIsSentFromAllItsFiles) {
  const std::string job = Launch("echo one; echo two; echo three");
  ASSERT_TRUE(yard_.AwaitEnd(job));
  const std::string path = yard_.List()[0].tasks[0]->stdout_path;
  ASSERT_TRUE(runtime::WriteFileAtomically(LogSegmentPath(path, 0), "one\n", 0600).ok());
  ASSERT_TRUE(runtime::WriteFileAtomically(LogSegmentPath(path, 4), "two\n", 0600).ok());
  ASSERT_TRUE(runtime::WriteFileAtomically(path, "three\n", 0600).ok());
  Logs(job, {});
  ASSERT_TRUE(caller_->AwaitEnd().has_value());
  EXPECT_EQ(Out(), "one\ntwo\nthree\n");
}

TEST_F(JobCallsTest, WhatWasRotatedAwayIsLeftOut) {
  const std::string job = Launch("echo one; echo two; echo three");
  ASSERT_TRUE(yard_.AwaitEnd(job));
  const std::string path = yard_.List()[0].tasks[0]->stdout_path;
  ASSERT_TRUE(runtime::WriteFileAtomically(LogSegmentPath(path, 4), "two\n", 0600).ok());
  ASSERT_TRUE(runtime::WriteFileAtomically(path, "three\n", 0600).ok());
  Logs(job, {});
  ASSERT_TRUE(caller_->AwaitEnd().has_value());
  EXPECT_EQ(Out(), "two\nthree\n");
}

TEST_F(JobCallsTest, SendsOnlyTheLastLines) {
  const std::string job = Launch("seq 1 50000");
  ASSERT_TRUE(yard_.AwaitEnd(job));
  msg::LogsRequestT request;
  request.last_lines = 2;
  Logs(job, request);
  ASSERT_TRUE(caller_->AwaitEnd().has_value());
  EXPECT_EQ(Out(), "49999\n50000\n");
}

TEST_F(JobCallsTest, GoesOnBehindAnOffset) {
  const std::string job = Launch("echo one; echo two");
  ASSERT_TRUE(yard_.AwaitEnd(job));
  msg::LogsRequestT request;
  request.stdout_offset = 4;
  Logs(job, request);
  ASSERT_TRUE(caller_->AwaitEnd().has_value());
  EXPECT_EQ(Out(), "two\n");
}

TEST_F(JobCallsTest, ASlowCallerLosesNothing) {
  caller_->MakeRoom(1);
  const std::string job = Launch("seq 1 100000");
  msg::LogsRequestT request;
  request.follow = true;
  Logs(job, request);
  ASSERT_TRUE(caller_->AwaitFull());
  caller_->MakeRoom(1 << 20);
  ASSERT_TRUE(caller_->AwaitEnd().has_value());
  const std::string out = Out();
  EXPECT_THAT(out, StartsWith("1\n2\n"));
  EXPECT_EQ(out.size(), 588895u);
  EXPECT_EQ(out.substr(out.size() - 7), "100000\n");
}

TEST_F(JobCallsTest, AnUnknownAttemptIsNotFound) {
  const std::string job = Launch("true");
  ASSERT_TRUE(yard_.AwaitEnd(job));
  msg::LogsRequestT request;
  request.attempt = 9;
  Logs(job, request);
  EXPECT_EQ(caller_->AwaitEnd()->code(), absl::StatusCode::kNotFound);
}

TEST_F(JobCallsTest, SinceATimeOnlyWhatWasWrittenThenOrLaterIsSent) {
  const std::string job = Launch("echo one; echo two; echo three");
  ASSERT_TRUE(yard_.AwaitEnd(job));
  const std::int64_t started = AttemptOf(0).started_us;
  std::filesystem::remove(TimesPath(job, 1));
  NoteGrowth(TimesPath(job, 1), started, 0);
  NoteGrowth(TimesPath(job, 1), started + 10, 6);  // The offset is in the middle of "two".
  NoteGrowth(TimesPath(job, 1), started + 20, 8);
  msg::LogsRequestT request;
  request.since_us = started + 15;
  Logs(job, request);
  ASSERT_TRUE(caller_->AwaitEnd().has_value());
  EXPECT_EQ(Out(), "two\nthree\n");
}

TEST_F(JobCallsTest, ShimsNoteWhenTheOutputGrewAndEnded) {
  const std::string job = Launch(absl::StrCat("echo one;", kUntilGo, "echo two"));
  ASSERT_TRUE(yard_.AwaitRunning(job));
  ASSERT_TRUE(yard_.AwaitInFile(yard_.List()[0].tasks[0]->stdout_path, "one"));
  EXPECT_EQ(LogTimes::OffsetAt(TimesPath(job, 1), absl::ToUnixMicros(absl::Now())), 0u);
  LetGo();
  ASSERT_TRUE(yard_.AwaitEnd(job));
  msg::LogsRequestT request;
  request.since_us = absl::ToUnixMicros(absl::Now());
  EXPECT_EQ(LogTimes::OffsetAt(TimesPath(job, 1), request.since_us), 8u);
  Logs(job, request);
  ASSERT_TRUE(caller_->AwaitEnd().has_value());
  EXPECT_EQ(Out(), "");
}

TEST_F(JobCallsTest, WithoutAnIndexSinceSendsAllOfTheAttemptThatEndedLater) {
  const std::string job = Launch("echo one; echo two");
  ASSERT_TRUE(yard_.AwaitEnd(job));
  std::filesystem::remove(TimesPath(job, 1));
  msg::LogsRequestT request;
  request.since_us = AttemptOf(0).ended_us;
  Logs(job, request);
  ASSERT_TRUE(caller_->AwaitEnd().has_value());
  EXPECT_EQ(Out(), "one\ntwo\n");
}

TEST_F(JobCallsTest, WithoutAnIndexSinceSendsNothingOfTheAttemptThatEndedBefore) {
  const std::string job = Launch("echo one; echo two");
  ASSERT_TRUE(yard_.AwaitEnd(job));
  std::filesystem::remove(TimesPath(job, 1));
  msg::LogsRequestT request;
  request.since_us = AttemptOf(0).ended_us + 1;
  Logs(job, request);
  ASSERT_TRUE(caller_->AwaitEnd().has_value());
  EXPECT_EQ(Out(), "");
}

TEST_F(JobCallsTest, SinceSendsAllAttemptsOldestFirst) {
  const std::string job = LaunchThreeAttempts();
  ASSERT_TRUE(yard_.AwaitEnd(job));
  msg::LogsRequestT request;
  request.since_us = 1;
  Logs(job, request);
  ASSERT_TRUE(caller_->AwaitEnd().has_value());
  EXPECT_EQ(Out(), "try 1\ntry 2\ntry 3\n");
}

TEST_F(JobCallsTest, SinceLeavesOutAttemptsThatWereOver) {
  const std::string job = LaunchThreeAttempts();
  ASSERT_TRUE(yard_.AwaitEnd(job));
  msg::LogsRequestT request;
  request.since_us = AttemptOf(1).started_us;
  Logs(job, request);
  ASSERT_TRUE(caller_->AwaitEnd().has_value());
  EXPECT_EQ(Out(), "try 2\ntry 3\n");
}

TEST_F(JobCallsTest, TheLastLinesSinceATimeAreCountedOverAllAttempts) {
  const std::string job = LaunchThreeAttempts("echo b; echo c;");
  ASSERT_TRUE(yard_.AwaitEnd(job));
  msg::LogsRequestT request;
  request.since_us = 1;
  request.last_lines = 5;
  Logs(job, request);
  ASSERT_TRUE(caller_->AwaitEnd().has_value());
  EXPECT_EQ(Out(), "b\nc\ntry 3\nb\nc\n");
}

TEST_F(JobCallsTest, FollowSinceATimeGoesOn) {
  const std::string job = LaunchThreeAttempts(
      absl::StrCat("[ $(wc -l < $FOLDER/n) -lt 2 ] || ", "{ ", kUntilGo, " };"));
  ASSERT_TRUE(yard_.Await(job, [](const msg::JobT& found) {
    return found.tasks[0]->attempts.size() == 2 && found.state == msg::TaskState::Running;
  }));
  msg::LogsRequestT request;
  request.since_us = 1;
  request.follow = true;
  Logs(job, request);
  ASSERT_TRUE(caller_->AwaitText(msg::LogStream::Stdout, "try 2\n"));
  LetGo();
  ASSERT_TRUE(caller_->AwaitEnd().has_value());
  EXPECT_EQ(Out(), "try 1\ntry 2\ntry 3\n");
}

TEST_F(JobCallsTest, ATimeAndAnAttemptOrOffsetsAreNotAskedForTogether) {
  const std::string job = Launch("true");
  msg::LogsRequestT request;
  request.since_us = 1;
  request.attempt = 1;
  EXPECT_EQ(CodeOf(job, request), absl::StatusCode::kInvalidArgument);
  request.attempt = 0;
  request.stderr_offset = 1;
  EXPECT_EQ(CodeOf(job, request), absl::StatusCode::kInvalidArgument);
}

TEST_F(JobCallsTest, SendsOnlyTheErrors) {
  const std::string job = Launch("echo one; echo two >&2");
  ASSERT_TRUE(yard_.AwaitEnd(job));
  msg::LogsRequestT request;
  request.errors_only = true;
  Logs(job, request);
  ASSERT_TRUE(caller_->AwaitEnd().has_value());
  EXPECT_EQ(Out(), "");
  EXPECT_EQ(caller_->text(msg::LogStream::Stderr), "two\n");
}

TEST_F(JobCallsTest, SendsOnlyTheRanksThatAreAskedFor) {
  auto spec = yard_.Shell("echo rank $RANK");
  AddGroup(&spec, "worker", 3);
  const auto job = yard_.Launch(spec);
  ASSERT_TRUE(job.ok()) << job.status();
  ASSERT_TRUE(yard_.AwaitEnd(job->id));
  msg::LogsRequestT request;
  request.ranks = {2, 0};
  Logs(job->id, request);
  ASSERT_TRUE(caller_->AwaitEnd().has_value());
  EXPECT_EQ(Out(), "rank 0\nrank 2\n");
}

TEST_F(JobCallsTest, OfOneTaskOnlyItsOutputIsSent) {
  auto spec = yard_.Shell("echo rank $RANK; echo error $RANK >&2");
  AddGroup(&spec, "worker", 3);
  const auto job = yard_.Launch(spec);
  ASSERT_TRUE(job.ok()) << job.status();
  ASSERT_TRUE(yard_.AwaitEnd(job->id));
  yard_.OnLoop([&] {
    const auto named = yard_.table()->Find(job->id + "/worker-1");
    ASSERT_TRUE(named.ok()) << named.status();
    StartLogCall(Context(), *named, {},
                 std::make_shared<bus::ReplyWriter<rpc::Launcher::Logs>>(caller_));
  });
  ASSERT_TRUE(caller_->AwaitEnd().has_value());
  EXPECT_EQ(Out(), "rank 1\n");
  EXPECT_EQ(caller_->text(msg::LogStream::Stderr), "error 1\n");
}

TEST_F(JobCallsTest, ARankThatTheJobDoesNotHaveIsNamed) {
  const std::string job = Launch("true");
  msg::LogsRequestT request;
  request.ranks = {0, 7};
  Logs(job, request);
  ASSERT_TRUE(caller_->AwaitEnd().has_value());
  EXPECT_EQ(caller_->AwaitEnd()->code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(caller_->AwaitEnd()->message()), ::testing::HasSubstr("no rank 7"));
}

TEST_F(JobCallsTest, WaitSendsEachStateAndTheEndedJobLast) {
  const std::string job = Launch(kUntilGo);
  Wait(job);
  ASSERT_TRUE(yard_.AwaitRunning(job));
  LetGo();
  ASSERT_TRUE(caller_->AwaitEnd().has_value());
  const auto states = caller_->states();
  ASSERT_GE(states.size(), 2u);
  EXPECT_EQ(states.back(), msg::TaskState::Exited);
  EXPECT_EQ(states[states.size() - 2], msg::TaskState::Running);
}

TEST_F(JobCallsTest, TheEndIsStoredBeforeItIsTold) {
  yard_.Close();
  std::string job;
  // The first is used on the loop's thread, the second on this thread.
  bool is_stored = false, was_stored = false;
  ASSERT_TRUE(yard_
                  .Open([&](std::string_view point) {
                    if (point != "after save" || job.empty()) return;
                    is_stored = yard_.table()->Row(job)->has_ended();
                  })
                  .ok());
  caller_->OnFinish([&] { was_stored = is_stored; });
  const std::string launched = Launch(kUntilGo);
  yard_.OnLoop([&] { job = launched; });
  Wait(launched);
  LetGo();
  ASSERT_TRUE(caller_->AwaitEnd().has_value());
  yard_.OnLoop([] {});
  EXPECT_TRUE(was_stored);
}

TEST_F(JobCallsTest, WaitForAnEndedJobEndsAtOnce) {
  const std::string job = Launch("exit 1");
  ASSERT_TRUE(yard_.AwaitEnd(job));
  Wait(job);
  ASSERT_TRUE(caller_->AwaitEnd().has_value());
  EXPECT_EQ(caller_->states(), std::vector{msg::TaskState::Failed});
}

TEST_F(JobCallsTest, ACallerThatLeavesIsForgotten) {
  const std::string job = Launch(kUntilGo);
  ASSERT_TRUE(yard_.AwaitRunning(job));
  Wait(job);
  caller_->Leave();
  yard_.OnLoop([] {});
  LetGo();
  ASSERT_TRUE(yard_.AwaitEnd(job));
  EXPECT_EQ(caller_->states(), std::vector{msg::TaskState::Running});
}

}  // namespace
}  // namespace launcher
