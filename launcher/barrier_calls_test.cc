#include "launcher/barrier_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bus/schema/launcher_generated.h"
#include "launcher/fixtures/testing_table.h"
#include "launcher/run/job_table.h"
#include "runtime/clock.h"
#include "runtime/file/file.h"

namespace launcher {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

constexpr absl::Duration kLong = absl::Seconds(30);

class BarrierCallsTest : public ::testing::Test {
 protected:
  BarrierCallsTest() {
    yard_.SetOnBarrier([this](const JobTable::Options::BarrierLine& said,
                              std::function<void(std::string)> answer) {
      MakeCalls();
      calls_->ArriveByLine(said.id, said.task, said.line, std::move(answer));
      ++lines_;
    });
    Open();
  }
  ~BarrierCallsTest() override {
    yard_.OnLoop([this] { calls_.reset(); });
  }

  // Starts a new launcher.
  void Open() {
    yard_.OnLoop([this] { calls_.reset(); });
    yard_.Close();
    EXPECT_EQ(yard_.Open(), absl::OkStatus());
    yard_.OnLoop([this] { MakeCalls(); });
  }
  // (Called early, since the programs of an earlier launcher send their lines at once.)
  void MakeCalls() {
    if (calls_ != nullptr) return;
    calls_ = std::make_unique<BarrierCalls>(yard_.table(), yard_.loop(), runtime::Clock::Real());
  }

  // Launches a job whose tasks sleep until they are killed.
  msg::JobT LaunchTasks(std::uint32_t count) {
    auto spec = yard_.Shell("exec sleep 1000");
    AddGroup(&spec, "worker", count);
    spec.keep_going = true;
    const auto job = yard_.Launch(spec);
    EXPECT_EQ(job.status(), absl::OkStatus());
    const auto running = yard_.Await(job->id, [](const msg::JobT& found) {
      for (const auto& task : found.tasks) {
        if (task->state != msg::TaskState::Running) return false;
      }
      return true;
    });
    EXPECT_TRUE(running.has_value());
    return running.value_or(msg::JobT());
  }
  void Arrive(const std::string& job, int task, absl::Duration timeout = kLong) {
    msg::BarrierRequestT request;
    request.task = absl::StrCat(job, "/worker-", task);
    request.name = "step";
    yard_.OnLoop([&] {
      calls_->Arrive(absl::StrCat("id ", ++ids_), request, timeout,
                     [this, task](absl::StatusOr<int> place) { answers_[task] = place; });
    });
  }
  // Returns the answer to a task; an error if it still waits after the deadline.
  absl::StatusOr<int> Answer(int task) {
    absl::StatusOr<int> answer = absl::UnknownError("it still waits");
    EXPECT_TRUE(yard_.AwaitTrue([&] {
      bool there = false;
      yard_.OnLoop([&] {
        there = answers_.contains(task);
        if (there) answer = answers_.at(task);
      });
      return there;
    }));
    return answer;
  }
  bool Waits(int task) {
    bool waits = false;
    yard_.OnLoop([&] { waits = !answers_.contains(task); });
    return waits;
  }

  // Launches a job whose tasks run this script.
  std::string LaunchScript(const std::string& script, std::uint32_t count) {
    auto spec = yard_.Shell(script);
    AddGroup(&spec, "worker", count);
    spec.keep_going = true;
    const auto job = yard_.Launch(spec);
    EXPECT_EQ(job.status(), absl::OkStatus());
    return job.ok() ? job->id : "";
  }
  // Returns the stdout of each task of the job, by rank.
  std::vector<std::string> Outputs(const std::string& id) {
    const auto job = yard_.AwaitEnd(id);
    EXPECT_TRUE(job.has_value());
    std::vector<std::string> outputs;
    for (std::size_t i = 0; job && i < job->tasks.size(); ++i) {
      EXPECT_EQ(job->tasks[i]->reason, "");
      outputs.push_back(runtime::ReadFile(job->tasks[i]->stdout_path, 1 << 20).value_or(""));
    }
    return outputs;
  }
  bool AwaitLines(int count) {
    return yard_.AwaitTrue([&] {
      int lines = 0;
      yard_.OnLoop([&] { lines = lines_; });
      return lines >= count;
    });
  }
  void Go() {
    EXPECT_EQ(runtime::WriteFileAtomically(yard_.folder() + "/go", "", 0600), absl::OkStatus());
  }

  int lines_ = 0;  // Used on the loop's thread.
  TestingTable yard_;
  std::unique_ptr<BarrierCalls> calls_;
  std::map<int, absl::StatusOr<int>> answers_;  // Used on the loop's thread.
  int ids_ = 0;
};

TEST_F(BarrierCallsTest, EverybodyGoesOnWhenTheLastHasCome) {
  const std::string job = LaunchTasks(3).id;
  Arrive(job, 2);
  Arrive(job, 0);
  EXPECT_TRUE(Waits(2));
  Arrive(job, 1);
  EXPECT_EQ(Answer(2).value_or(-1), 0);
  EXPECT_EQ(Answer(0).value_or(-1), 1);
  EXPECT_EQ(Answer(1).value_or(-1), 2);
}

TEST_F(BarrierCallsTest, ATaskThatEndsBreaksIt) {
  const msg::JobT job = LaunchTasks(2);
  Arrive(job.id, 0);
  ASSERT_EQ(kill(job.tasks[1]->attempts[0]->pid, SIGKILL), 0);
  const auto broken = Answer(0);
  EXPECT_TRUE(absl::IsFailedPrecondition(broken.status())) << broken.status();
  EXPECT_THAT(broken.status().message(), HasSubstr("worker-1"));
  EXPECT_THAT(broken.status().message(), HasSubstr("signal 9"));
}

TEST_F(BarrierCallsTest, OneThatCameTooLateFindsItBroken) {
  const msg::JobT job = LaunchTasks(2);
  ASSERT_EQ(kill(job.tasks[1]->attempts[0]->pid, SIGKILL), 0);
  ASSERT_TRUE(yard_.Await(job.id, [](const msg::JobT& found) {
    return found.tasks[1]->state == msg::TaskState::Failed;
  }));
  Arrive(job.id, 0);
  EXPECT_TRUE(absl::IsFailedPrecondition(Answer(0).status())) << Answer(0).status();
}

TEST_F(BarrierCallsTest, WhoWaitsTooLongIsTold) {
  const std::string job = LaunchTasks(2).id;
  Arrive(job, 0, absl::Milliseconds(50));
  EXPECT_TRUE(absl::IsDeadlineExceeded(Answer(0).status())) << Answer(0).status();
  Arrive(job, 1);
  EXPECT_TRUE(absl::IsFailedPrecondition(Answer(1).status())) << Answer(1).status();
}

TEST_F(BarrierCallsTest, TheEndOfTheJobEndsTheWait) {
  const std::string job = LaunchTasks(2).id;
  Arrive(job, 0);
  ASSERT_EQ(yard_.Stop(job, absl::Seconds(5)), absl::OkStatus());
  EXPECT_FALSE(Answer(0).ok());
  ASSERT_TRUE(yard_.AwaitEnd(job));
  EXPECT_TRUE(yard_.AwaitTrue([&] {
    std::size_t jobs = 1;
    yard_.OnLoop([&] { jobs = calls_->jobs(); });
    return jobs == 0;
  }));
  Arrive(job, 1);
  EXPECT_TRUE(absl::IsFailedPrecondition(Answer(1).status())) << Answer(1).status();
}

TEST_F(BarrierCallsTest, WhoIsNoTaskIsRefused) {
  const std::string job = LaunchTasks(1).id;
  Arrive(job, 7);
  EXPECT_TRUE(absl::IsNotFound(Answer(7).status())) << Answer(7).status();
}

// A program arrives at a barrier by a line on its report channel, and continues when it gets the
// answer.
constexpr char kMeet[] =
    "meet() { printf '{\"t\":\"barrier\",\"name\":\"%s\"%s}\\n' \"$1\" \"$2\" >&3; read -r answer "
    "<&3; "
    "echo \"$answer\"; }; ";
constexpr char kLastWaitsForGo[] =
    "[ $RANK != 2 ] || while [ ! -e $FOLDER/go ]; do sleep 0.01; done; ";

TEST_F(BarrierCallsTest, ProgramsMeetOverTheirReportChannel) {
  const auto outputs = Outputs(LaunchScript(absl::StrCat(kMeet, "meet a; meet a ',\"seq\":1'"), 3));
  EXPECT_THAT(outputs, UnorderedElementsAre(HasSubstr(R"({"t":"ok","index":0})"),
                                            HasSubstr(R"({"t":"ok","index":1})"),
                                            HasSubstr(R"({"t":"ok","index":2})")));
  EXPECT_THAT(outputs, UnorderedElementsAre(HasSubstr(R"({"t":"ok","seq":1,"index":0})"),
                                            HasSubstr(R"({"t":"ok","seq":1,"index":1})"),
                                            HasSubstr(R"({"t":"ok","seq":1,"index":2})")));
}

TEST_F(BarrierCallsTest, WhatIsNoBarrierIsToldToTheProgram) {
  const auto outputs = Outputs(LaunchScript(absl::StrCat(kMeet, "meet a ',\"timeout_s\":-1'"), 1));
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_THAT(outputs[0], HasSubstr(R"("code":"INVALID_ARGUMENT")"));
  EXPECT_THAT(outputs[0], HasSubstr("timeout_s"));
}

TEST_F(BarrierCallsTest, AnotherLauncherFindsThoseWhoWait) {
  const std::string job = LaunchScript(absl::StrCat(kMeet, kLastWaitsForGo, "meet a; meet b"), 3);
  ASSERT_TRUE(AwaitLines(2));
  Open();
  ASSERT_TRUE(AwaitLines(4));
  Go();
  EXPECT_THAT(Outputs(job), Each(Not(HasSubstr("error"))));
}

TEST_F(BarrierCallsTest, AProgramThatDoesNotComeBreaksTheOthersBarrier) {
  const std::string job = LaunchScript(absl::StrCat(kMeet, "[ $RANK != 1 ] || exit 0; meet a"), 2);
  const auto outputs = Outputs(job);
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_THAT(outputs[0], HasSubstr(R"("code":"FAILED_PRECONDITION")"));
  EXPECT_THAT(outputs[0], HasSubstr("worker-1"));
}

}  // namespace
}  // namespace launcher
