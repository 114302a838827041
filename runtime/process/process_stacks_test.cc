#include "runtime/process/process_stacks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "runtime/file/unique_fd.h"
#include "runtime/process/subprocess.h"

namespace runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kMark[] = "YARD_TRIAL_ID=t-test";

class ProcessStacksTest : public ::testing::Test {
 protected:
  ~ProcessStacksTest() override {
    if (child_) (void)child_->SignalGroup(SIGKILL);
    if (child_) (void)child_->Wait(absl::Seconds(20));
  }
  // Starts a program; returns once the program has written a byte.
  pid_t Start(std::vector<std::string> argv) {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    reader_ = UniqueFd(ends[0]);
    UniqueFd writer(ends[1]);
    Subprocess::Options options;
    options.argv = std::move(argv);
    options.environment = {"PATH=/usr/bin:/bin", kMark};
    options.fds = {{writer.get(), 1}, {2, 2}};
    options.new_session = true;
    auto child = Subprocess::Start(options);
    EXPECT_TRUE(child.ok()) << child.status();
    child_ = std::move(*child);
    writer.reset();
    char byte;
    EXPECT_EQ(read(reader_.get(), &byte, 1), 1) << "it did not start";
    return child_->pid();
  }
  // Returns the command of a Python program that installs the same handlers as the module yard.
  static std::vector<std::string> Python(const std::string& program) {
    return {"python3", "-c",
            absl::StrCat("import faulthandler, fcntl, os, signal, sys, threading, time\n"
                         "number = signal.SIGRTMIN + 20\n"
                         "fd = os.memfd_create('yard-stacks-%d' % number)\n"
                         "fcntl.fcntl(fd, fcntl.F_SETFL, os.O_APPEND | os.O_RDWR)\n"
                         "faulthandler.register(number, file=fd, all_threads=True)\n"
                         "def hang_here():\n"
                         "    os.write(1, b'.')\n"
                         "    while True: signal.pause()\n",
                         program)};
  }

  UniqueFd reader_;  // The test reads no more from it, so a program that keeps writing blocks.
  std::optional<Subprocess> child_;
};

TEST_F(ProcessStacksTest, APythonProcessSaysWhereItIs) {
  const pid_t pid =
      Start(Python("threading.Thread(target=hang_here, daemon=True).start()\n"
                   "while True: time.sleep(1000)\n"));
  for (int round = 0; round < 3; ++round) {
    const auto stacks = StacksOfTask(pid, kMark);
    ASSERT_TRUE(stacks.ok()) << stacks.status();
    ASSERT_EQ(stacks->size(), 1u);
    const ProcessStacks& process = stacks->front();
    EXPECT_EQ(process.pid, pid);
    EXPECT_EQ(process.command, "python3");
    EXPECT_EQ(process.threads.size(), 2u);
    EXPECT_THAT(process.python, HasSubstr("in hang_here"));
    EXPECT_THAT(process.python, HasSubstr("Current thread"));
    EXPECT_EQ(process.python.find("hang_here"), process.python.rfind("hang_here"))
        << "only the newest answer";
    EXPECT_EQ(process.native + process.note, "");
    EXPECT_THAT(StacksText(*stacks), HasSubstr("\n    File \"<string>\", line"));
  }
  EXPECT_FALSE(child_->Wait(absl::ZeroDuration()).ok()) << "it goes on";
}

TEST_F(ProcessStacksTest, AProcessThatIsStoppedDoesNotAnswerAndIsNotKilled) {
  const pid_t pid = Start(Python("hang_here()\n"));
  ASSERT_EQ(kill(pid, SIGSTOP), 0);
  StacksOptions options;
  options.answer_timeout = absl::Milliseconds(200);
  options.native_timeout = absl::ZeroDuration();
  const auto stacks = StacksOfTask(pid, kMark, options);
  ASSERT_TRUE(stacks.ok()) << stacks.status();
  EXPECT_EQ(stacks->front().note, "it did not answer within 200ms");
  EXPECT_EQ(stacks->front().python, "");
}

TEST_F(ProcessStacksTest, TheTimeoutIsThatOfAllTasksTogether) {
  const pid_t pid = Start(Python("hang_here()\n"));
  ASSERT_EQ(kill(pid, SIGSTOP), 0);
  StacksOptions options;
  options.answer_timeout = absl::Seconds(20);
  options.native_timeout = absl::ZeroDuration();
  options.total_timeout = absl::Milliseconds(200);
  const std::vector<pid_t> leaders(3, pid);
  const std::string text = StacksTextOfTasks(leaders, kMark, 1000, options);
  EXPECT_THAT(text, HasSubstr("it did not answer"));
  EXPECT_EQ(text.find("process "), text.rfind("process ")) << text;
}

TEST_F(ProcessStacksTest, TheTextOfTasksEndsAtItsSize) {
  const pid_t pid = Start({"yes"});
  StacksOptions options;
  options.native_timeout = absl::ZeroDuration();
  const std::vector<pid_t> leaders = {1 << 30, pid, pid};
  const std::string text = StacksTextOfTasks(leaders, kMark, 1000, options);
  EXPECT_NE(text.find("process "), text.rfind("process ")) << text;
  EXPECT_EQ(StacksTextOfTasks(leaders, kMark, 12, options), text.substr(0, 12));
}

TEST_F(ProcessStacksTest, ASignalThatNobodyHandlesAnyMoreIsNotSent) {
  const pid_t pid = Start(Python("faulthandler.unregister(number)\nhang_here()\n"));
  StacksOptions options;
  options.native_timeout = absl::ZeroDuration();
  const auto stacks = StacksOfTask(pid, kMark, options);
  ASSERT_TRUE(stacks.ok()) << stacks.status();
  EXPECT_EQ(stacks->front().python + stacks->front().note, "");
  EXPECT_FALSE(child_->Wait(absl::Milliseconds(50)).ok()) << "it was killed";
}

TEST_F(ProcessStacksTest, OfOtherProgramsAndThoseBelowThemItSaysWhatTheyWaitFor) {
  const pid_t pid = Start({"sh", "-c", "yes & wait"});
  StacksOptions options;
  options.native_timeout = absl::ZeroDuration();
  const auto stacks = StacksOfTask(pid, kMark, options);
  ASSERT_TRUE(stacks.ok()) << stacks.status();
  std::vector<std::string> commands;
  for (const ProcessStacks& process : *stacks) {
    commands.push_back(process.command);
    ASSERT_EQ(process.threads.size(), 1u);
    EXPECT_EQ(process.threads[0].tid, process.pid);
    EXPECT_EQ(process.threads[0].name, process.command);
  }
  EXPECT_THAT(commands, ElementsAre("sh", "yes"));
}

TEST_F(ProcessStacksTest, WithoutADebuggerItSaysWhichOnesThereAre) {
  const pid_t pid = Start({"yes"});
  StacksOptions options;
  options.path = "/nowhere";
  const auto stacks = StacksOfTask(pid, kMark, options);
  ASSERT_TRUE(stacks.ok()) << stacks.status();
  EXPECT_THAT(stacks->front().note, HasSubstr("elfutils"));
}

TEST_F(ProcessStacksTest, AStrangerIsNotAsked) {
  const pid_t pid = Start({"yes"});
  EXPECT_TRUE(absl::IsNotFound(StacksOfTask(pid, "YARD_TRIAL_ID=t-other").status()));
  EXPECT_TRUE(absl::IsNotFound(StacksOfTask(pid, "").status())) << "its parent is no shim";
  EXPECT_TRUE(absl::IsNotFound(StacksOfTask(0, kMark).status()));
  EXPECT_TRUE(absl::IsNotFound(StacksOfTask(1 << 30, kMark).status()));
}

}  // namespace
}  // namespace runtime
