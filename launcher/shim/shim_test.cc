#include <errno.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "launcher/fixtures/shim_fixture.h"
#include "launcher/log/log_segments.h"
#include "launcher/process/process_table.h"
#include "launcher/wire/log_files.h"
#include "launcher/wire/shim_protocol.h"
#include "runtime/file/file.h"
#include "runtime/file/unique_fd.h"
#include "runtime/process/stop_process.h"
#include "runtime/process/subprocess.h"

namespace launcher {
namespace {

using runtime::UniqueFd;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

using ShimTest = ShimFixture;

TEST_F(ShimTest, KeepsOutputByteForByte) {
  StartShell(R"(printf 'a\000b\377\n\nno newline'; printf 'to stderr' >&2)");
  const ShimState state = Finish();
  EXPECT_EQ(Output(), std::string("a\0b\xff\n\nno newline", 16));
  EXPECT_EQ(Errors(), "to stderr");
  EXPECT_EQ(state.stdout_end, 16u);
  EXPECT_EQ(state.stderr_end, 9u);
}

TEST_F(ShimTest, KeepsALineOfFourMegabytes) {
  StartShell("head -c 4194304 /dev/zero | tr '\\000' x; echo; echo end");
  Finish();
  EXPECT_EQ(Output(), std::string(4194304, 'x') + "\nend\n");
}

TEST_F(ShimTest, AppendsToALogFileAndSaysWhereItBegan) {
  ASSERT_TRUE(runtime::WriteFileAtomically(spec_.stdout_path, "before\n", 0600).ok());
  StartShell("echo after");
  const ShimState state = Finish();
  EXPECT_EQ(Output(), "before\nafter\n");
  EXPECT_EQ(state.stdout_begin, 7u);
  EXPECT_EQ(state.stdout_end, 13u);
}

TEST_F(ShimTest, OutputUpToTheLimitIsKeptWhole) {
  spec_.log_limit = 10;
  StartShell("printf 0123456789; printf abcde >&2");
  const ShimState state = Finish();
  EXPECT_EQ(Output(), "0123456789");
  EXPECT_EQ(Errors(), "abcde");
  EXPECT_EQ(state.stdout_end, 10u);
  EXPECT_EQ(state.note, "");
}

TEST_F(ShimTest, EachFileStopsGrowingAtTheLimitAndTheTaskGoesOn) {
  spec_.log_limit = 1'000'000;
  StartShell("head -c 4194304 /dev/zero; printf abcde >&2; exit 3");
  const ShimState state = Finish();
  EXPECT_EQ(Output(), std::string(1'000'000, '\0'));
  EXPECT_EQ(Errors(), "abcde");
  EXPECT_EQ(state.stdout_end, 1'000'000u);
  EXPECT_EQ(state.exit_code, 3);
  EXPECT_EQ(state.note, "3194304 bytes of output are past the limit of 1000000 bytes a file");
}

TEST_F(ShimTest, TheLimitCountsWhatWasInTheFileBefore) {
  ASSERT_TRUE(runtime::WriteFileAtomically(spec_.stdout_path, "before\n", 0600).ok());
  ASSERT_TRUE(runtime::WriteFileAtomically(spec_.stderr_path, "more than the limit", 0600).ok());
  spec_.log_limit = 10;
  StartShell("echo after; printf error >&2");
  const ShimState state = Finish();
  EXPECT_EQ(Output(), "before\naft");
  EXPECT_EQ(Errors(), "more than the limit");  // Never truncated.
  EXPECT_EQ(state.stdout_begin, 7u);
  EXPECT_EQ(state.stdout_end, 10u);
  EXPECT_EQ(state.stderr_end, 19u);
  EXPECT_EQ(state.note, "8 bytes of output are past the limit of 10 bytes a file");
}

TEST_F(ShimTest, RotatesItsLogsWhileSomebodyReadsThem) {
  spec_.rotate_bytes = 100'000;
  spec_.rotate_files = 1000;
  StartShell("seq 1 300000; echo error >&2");
  std::string expected;
  for (int i = 1; i <= 300'000; ++i) absl::StrAppend(&expected, i, "\n");
  LogSegments log(spec_.stdout_path);
  std::string read;
  const absl::Time deadline = absl::Now() + kDeadline;
  while (read.size() < expected.size() && absl::Now() < deadline) {
    auto more = log.Read(read.size(), 12'345);
    if (more.ok()) read += *more;
  }
  EXPECT_TRUE(read == expected) << read.size();
  const ShimState state = Finish();
  EXPECT_EQ(state.stdout_end, expected.size());
  EXPECT_EQ(state.note, "");
  EXPECT_GE(FindLogFiles(spec_.stdout_path).segments.size(), 19u);
  EXPECT_EQ(Errors(), "error\n");
}

TEST_F(ShimTest, ALogThatWasRotatedGoesOnAfterAKillOfTheShim) {
  spec_.rotate_bytes = 1000;
  spec_.rotate_files = 10;
  StartShell("seq 1 100000; echo ready >&2; read r <&3");
  const absl::Time deadline = absl::Now() + kDeadline;
  while (Errors() != "ready\n" && absl::Now() < deadline) {
    Send(control_, {.kind = ShimRequest::Kind::kWatch});
    ASSERT_TRUE(Receive(control_).has_value());
  }
  ASSERT_TRUE(shim_->Signal(SIGKILL).ok());
  ASSERT_TRUE(shim_->Wait(kDeadline).ok());
  std::filesystem::remove(folder_ + "/started");
  StartShell("echo again");
  const ShimState state = Finish();
  EXPECT_EQ(state.stdout_begin, 588'895u);  // The number of bytes that seq writes.
  EXPECT_EQ(LogSegments(spec_.stdout_path).Read(588'895, 100).value_or("?"), "again\n");
  EXPECT_EQ(FindLogFiles(spec_.stdout_path).segments.size(), 10u);
}

TEST_F(ShimTest, ReportsTheExitCodeAlsoInItsFile) {
  StartShell("exit 42");
  const ShimState state = Finish();
  EXPECT_EQ(state.exit_code, 42);
  EXPECT_EQ(state.signal, 0);
  const auto file = runtime::ReadFile(folder_ + "/exit", 1 << 20);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(ShimState::Decode(*file), state);
}

TEST_F(ShimTest, ReportsDeathBySignal) {
  StartShell("kill -SEGV $$");
  const ShimState state = Finish();
  EXPECT_EQ(state.signal, SIGSEGV);
  EXPECT_EQ(state.exit_code, 0);
}

TEST_F(ShimTest, SaysWhyAProgramCannotStart) {
  Start({"no-such-program"});
  const ShimState state = Finish();
  EXPECT_EQ(state.failure, "program not found: no-such-program");
  EXPECT_EQ(state.error_number, ENOENT);
}

TEST_F(ShimTest, SaysThatAProgramIsNotExecutable) {
  ASSERT_TRUE(runtime::WriteFileAtomically(folder_ + "/data", "#!/bin/sh\n", 0600).ok());
  // (Without any x bit even a superuser may not execute it.)
  Start({"./data"});
  const ShimState state = Finish();
  EXPECT_EQ(state.failure, "program is not executable: ./data");
  EXPECT_EQ(state.error_number, EACCES);
}

TEST_F(ShimTest, SaysThatAScriptsInterpreterIsMissing) {
  ASSERT_TRUE(runtime::WriteFileAtomically(folder_ + "/script", "#!/no/such/shell\n", 0700).ok());
  Start({"./script"});
  const ShimState state = Finish();
  EXPECT_EQ(state.failure, "cannot run ./script: its interpreter /no/such/shell does not exist");
  EXPECT_EQ(state.error_number, ENOENT);
}

TEST_F(ShimTest, SaysThatAScriptHasTheLineEndsOfAnotherSystem) {
  ASSERT_TRUE(
      runtime::WriteFileAtomically(folder_ + "/script", "#! /bin/sh\r\nexit 0\r\n", 0700).ok());
  Start({"./script"});
  EXPECT_EQ(Finish().failure,
            "cannot run ./script: its interpreter /bin/sh and a carriage return (its lines end as "
            "on Windows) does not exist");
}

class GoneDirectoryTest : public ShimFixture, public ::testing::WithParamInterface<const char*> {};

TEST_P(GoneDirectoryTest, IsNamedWhateverTheProgram) {
  spec_.working_directory = folder_ + "/gone";
  Start({GetParam()});
  const ShimState state = Finish();
  EXPECT_EQ(state.failure,
            "cannot enter the working directory " + folder_ + "/gone: No such file or directory");
  EXPECT_EQ(state.error_number, ENOENT);
}

INSTANTIATE_TEST_SUITE_P(Each, GoneDirectoryTest,
                         ::testing::Values("./script", "true", "/bin/true"));

TEST_F(ShimTest, AProgramThatRanHasNoErrorNumber) {
  StartShell("exit 2");
  EXPECT_EQ(Finish().error_number, 0);
}

TEST(ShimStateTest, OneOfAnOldShimHasNoErrorNumber) {
  ShimState state;
  state.failure = "program not found: x";
  state.error_number = ENOENT;
  EXPECT_EQ(ShimState::Decode(state.Encode()), state);
  std::string old = state.Encode();
  const std::string field = "error_number 1\n2\n";
  ASSERT_NE(old.find(field), std::string::npos) << old;
  old.erase(old.find(field), field.size());
  const auto decoded = ShimState::Decode(old);
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(decoded->failure, state.failure);
  EXPECT_EQ(decoded->error_number, 0);
}

TEST_F(ShimTest, SaysTheBeginningOfALongFailureOnly) {
  std::string name = "x";
  while (name.size() < 70'000) name += "\u00fc";
  Start({name});
  const ShimState state = Finish();
  EXPECT_LE(state.failure.size(), 4096u);
  EXPECT_THAT(state.failure, StartsWith("program not found: x\u00fc"));
  EXPECT_THAT(state.failure, EndsWith("\u00fc..."));  // Truncated at a character boundary.
}

TEST_F(ShimTest, SaysThatAFileIsNoProgram) {
  ASSERT_TRUE(runtime::WriteFileAtomically(folder_ + "/data", "x", 0700).ok());
  Start({"./data"});
  const ShimState state = Finish();
  EXPECT_THAT(state.failure, HasSubstr("Exec format error"));
  EXPECT_EQ(state.error_number, ENOEXEC);
}

TEST_F(ShimTest, SaysThatTheWorkingDirectoryIsMissing) {
  spec_.working_directory = folder_ + "/gone";
  StartShell("true");
  const ShimState state = Finish();
  EXPECT_THAT(state.failure, HasSubstr("/gone: No such file or directory"));
  EXPECT_EQ(state.error_number, ENOENT);
}

TEST_F(ShimTest, FindsTheProgramOnTheTasksPathAndRelativeToItsDirectory) {
  std::filesystem::create_directory(folder_ + "/bin");
  ASSERT_TRUE(
      runtime::WriteFileAtomically(folder_ + "/bin/prog", "#!/bin/sh\npwd; echo \"$1\"\n", 0700)
          .ok());
  spec_.environment = {"PATH=bin:/usr/bin"};
  Start({"prog", "an argument"});
  Finish();
  EXPECT_EQ(Output(), folder_ + "\nan argument\n");
}

TEST_F(ShimTest, GivesTheTaskASocketAsDescriptorThreeAndNothingElse) {
  Start({"python3", "-c",
         "import os,stat,signal\n"
         "s=os.fstat(3)\n"
         "print(stat.S_ISSOCK(s.st_mode), os.environ['YARD_FD']=='3:%d'%s.st_ino)\n"
         "print(sorted(int(f) for f in os.listdir('/proc/self/fd'))[:4])\n"
         "print(os.getsid(0)==os.getpid(), os.environ['YARD_SOCKET'])\n"
         "print(signal.pthread_sigmask(signal.SIG_BLOCK, []))\n"});
  Finish();
  EXPECT_EQ(Output(),
            absl::StrCat("True True\n[0, 1, 2, 3]\nTrue ", spec_.task_socket, "\nset()\n"));
  EXPECT_EQ(Errors(), "");
}

TEST_F(ShimTest, StartsAnAttemptOnce) {
  StartShell("echo once; read r <&3");
  AwaitPhase(ShimPhase::kRunning);
  UniqueFd other;
  auto second = StartShim(&other);
  auto status = second->Wait(kDeadline);
  ASSERT_TRUE(status.ok());
  EXPECT_EQ(status->code, kShimNotFirst);
  AwaitOutput("once");
  Send(control_, {.kind = ShimRequest::Kind::kKill});
  Finish();
  auto third = StartShim(&other);
  status = third->Wait(kDeadline);
  ASSERT_TRUE(status.ok());
  EXPECT_EQ(status->code, kShimNotFirst);
  EXPECT_EQ(Output(), "once\n");
}

TEST_F(ShimTest, ANewLauncherFindsItByItsSocket) {
  StartShell("echo before; read r <&3; exit 5");
  const ShimState first = AwaitPhase(ShimPhase::kRunning);
  control_.reset();
  control_ = ConnectTo(spec_.control_socket, SOCK_SEQPACKET);
  ASSERT_TRUE(control_.valid());
  Send(control_, {.kind = ShimRequest::Kind::kState});
  const auto again = Receive(control_);
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->pid, first.pid);
  EXPECT_EQ(again->start_ticks, first.start_ticks);
  Send(control_, {.kind = ShimRequest::Kind::kStop, .signal = SIGTERM, .grace_ms = 10000});
  EXPECT_EQ(Finish().signal, SIGTERM);
  EXPECT_FALSE(std::filesystem::exists(spec_.control_socket));
  EXPECT_FALSE(std::filesystem::exists(spec_.task_socket));
}

// For example after a launcher that is killed just after it has acknowledged the end.
TEST_F(ShimTest, WhatALauncherHasSaidCountsAlsoWhenItIsGone) {
  for (const bool reads : {true, false}) {
    SCOPED_TRACE(reads);
    StartShell("true");
    AwaitPhase(ShimPhase::kExited);
    control_ = ConnectTo(spec_.control_socket, SOCK_SEQPACKET);
    ASSERT_TRUE(control_.valid());
    if (!reads) {
      // Closing a socket with unread bytes is reported to the shim as an error.
      Send(control_, {.kind = ShimRequest::Kind::kState});
      ASSERT_TRUE(WaitReadable(control_.get()));
    }
    ASSERT_TRUE(runtime::StopProcess(*shim_).ok());
    Send(control_, {.kind = ShimRequest::Kind::kState});  // No process receives the answer.
    Send(control_, {.kind = ShimRequest::Kind::kAcknowledge});
    control_.reset();
    ASSERT_TRUE(shim_->Signal(SIGCONT).ok());
    const auto left = shim_->Wait(kDeadline);
    ASSERT_TRUE(left.ok()) << left.status();
    EXPECT_EQ(left->code, kShimDone);
    for (const char* file : {"/started", "/exit", "/lock"}) unlink((folder_ + file).c_str());
  }
}

// Its control socket was removed and its launcher has ended, so the end cannot be acknowledged.
TEST_F(ShimTest, LeavesAfterTheEndOnceNobodyCanReachIt) {
  StartShell("read line");
  AwaitPhase(ShimPhase::kRunning);
  ASSERT_EQ(unlink(spec_.control_socket.c_str()), 0);
  Send(control_, {.kind = ShimRequest::Kind::kKill});
  AwaitPhase(ShimPhase::kExited);
  control_.reset();
  const auto ended = shim_->Wait(kDeadline);
  ASSERT_TRUE(ended.ok()) << "it stays: " << ended.status();
  EXPECT_EQ(ended->code, kShimDone);
  EXPECT_EQ(access((folder_ + "/exit").c_str(), F_OK), 0);
}

TEST_F(ShimTest, StopGivesTheTaskItsGrace) {
  StartShell("trap 'echo saved; exit 7' TERM; echo ready; while :; do read r <&3; done");
  AwaitOutput("ready");
  Send(control_, {.kind = ShimRequest::Kind::kStop, .signal = SIGTERM, .grace_ms = 15000});
  EXPECT_EQ(Finish().exit_code, 7);
  EXPECT_EQ(Output(), "ready\nsaved\n");
}

TEST_F(ShimTest, StopGivesTheRestOfTheTreeItsGraceToo) {
  // The main process ends at once; its child still saves.
  StartShell(
      "sh -c 'trap \"while [ ! -e go ]; do sleep 0.01; done; echo saved >kept; exit\" TERM\n"
      "  echo ready; exec >/dev/null 2>&1; while :; do sleep 0.01; done'; true");
  AwaitOutput("ready");
  Send(control_, {.kind = ShimRequest::Kind::kStop, .signal = SIGTERM, .grace_ms = 15000});
  AwaitEndOfMain();
  ASSERT_TRUE(runtime::WriteFileAtomically(folder_ + "/go", "", 0600).ok());
  EXPECT_EQ(Finish().signal, SIGTERM);
  EXPECT_EQ(runtime::ReadFile(folder_ + "/kept", 100).value_or("killed"), "saved\n");
}

TEST_F(ShimTest, TheRestOfTheTreeIsKilledAfterTheGrace) {
  StartShell("sh -c 'trap : TERM; echo ready; while :; do sleep 0.01; done'; true");
  AwaitOutput("ready");
  const auto tree = Descendants(ReadProcesses(), shim_->pid());
  Send(control_, {.kind = ShimRequest::Kind::kStop, .signal = SIGTERM, .grace_ms = 100});
  EXPECT_EQ(Finish().signal, SIGTERM);
  for (const pid_t pid : tree) EXPECT_EQ(kill(pid, 0), -1) << pid;
}

TEST_F(ShimTest, AStopAfterTheEndDoesNotLengthenIt) {
  StartShell("(setsid sleep 1000 &); echo done");
  AwaitEndOfMain();
  Send(control_, {.kind = ShimRequest::Kind::kStop, .signal = SIGTERM, .grace_ms = 60000});
  EXPECT_EQ(Finish().exit_code, 0);
}

TEST_F(ShimTest, StopKillsATreeThatIgnoresItAndHides) {
  // Grandchildren in sessions of their own, forked twice, that ignore SIGTERM; half of them lack
  // the mark.
  Start({"python3", "-c",
         "import os,signal,time\n"
         "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
         "for i in range(20):\n"
         "  if os.fork()==0:\n"
         "    os.setsid()\n"
         "    if os.fork(): os._exit(0)\n"
         "    if i%2: os.execve('/bin/sleep', ['sleep','1000'], {})\n"
         "    time.sleep(1000)\n"
         "for i in range(20): os.wait()\n"
         "print('ready', flush=True)\n"
         "time.sleep(1000)\n"});
  AwaitOutput("ready");
  const auto tree = Descendants(ReadProcesses(), shim_->pid());
  EXPECT_EQ(tree.size(), 21u);
  Send(control_, {.kind = ShimRequest::Kind::kStop, .signal = SIGTERM, .grace_ms = 50});
  EXPECT_EQ(AwaitPhase(ShimPhase::kExited).signal, SIGKILL);
  for (const pid_t pid : tree) EXPECT_EQ(kill(pid, 0), -1) << pid;
}

TEST_F(ShimTest, AGrandchildThatHoldsTheOutputDoesNotHangIt) {
  StartShell(
      "(setsid sh -c 'echo $$ >new; mv new pid; exec sleep 1000' &)\n"
      "until [ -e pid ]; do sleep 0.01; done; echo done");
  AwaitOutput("done");
  const auto tree = Descendants(ReadProcesses(), shim_->pid());
  EXPECT_GE(tree.size(), 1u);
  const std::string pid = runtime::ReadFile(folder_ + "/pid", 100).value_or("\n");
  const absl::Time start = absl::Now();
  const ShimState state = Finish();
  EXPECT_LT(absl::Now() - start, absl::Seconds(10));
  EXPECT_EQ(state.exit_code, 0);
  EXPECT_EQ(Output(), "done\n");
  ExpectGone(tree);
  EXPECT_EQ(state.note, absl::StrCat("its output was held open by pid ",
                                     pid.substr(0, pid.size() - 1), " (sleep)"));
}

TEST_F(ShimTest, OfManyWhoHoldTheOutputOneIsNamed) {
  StartShell("(setsid sleep 1000 &); (setsid sleep 1000 >/dev/null &); echo done");
  const ShimState state = Finish();
  EXPECT_THAT(state.note, StartsWith("its output was held open by pid "));
  EXPECT_THAT(state.note, EndsWith(" (sleep) and 1 more"));
}

TEST_F(ShimTest, KilledAtAnyInstantOfARotationItsLogIsWhole) {
  spec_.rotate_bytes = 2000;
  spec_.rotate_files = 100'000;
  const std::string counting = "i=0; while :; do i=$((i+1)); echo $i; done";
  LogSegments log(spec_.stdout_path);
  std::vector<std::uint64_t> begins = {0};
  for (int round = 0; round < 10; ++round) {
    std::filesystem::remove(folder_ + "/started");
    StartShell(counting);
    const std::uint64_t wanted = begins.back() + 20'000 + 777 * static_cast<unsigned>(round);
    const absl::Time deadline = absl::Now() + kDeadline;
    while (log.Look().value_or(LogSegments::Extent{}).end < wanted) {
      ASSERT_LT(absl::Now(), deadline);
    }
    ASSERT_TRUE(shim_->Signal(SIGKILL).ok());
    ASSERT_TRUE(shim_->Wait(kDeadline).ok());
    begins.push_back(log.Look()->end);
  }
  for (std::size_t i = 0; i + 1 < begins.size(); ++i) {
    const auto output = log.Read(begins[i], begins[i + 1] - begins[i]);
    ASSERT_TRUE(output.ok()) << output.status();
    std::string expected;
    for (int line = 1; expected.size() < output->size(); ++line)
      absl::StrAppend(&expected, line, "\n");
    EXPECT_EQ(*output, expected.substr(0, output->size())) << i;
  }
  for (const auto& segment : FindLogFiles(spec_.stdout_path).segments) {
    EXPECT_LE(segment.end - segment.begin, 4000u);
  }
}

TEST_F(ShimTest, ATaskIsReadyOnceItHasWrittenAByte) {
  spec_.ready_fd = 7;
  spec_.environment.push_back("YARD_READY_FD=99");
  StartShell("until [ -e go ]; do sleep 0.01; done; echo $YARD_READY_FD; echo >&7; read r <&3");
  EXPECT_FALSE(AwaitPhase(ShimPhase::kRunning).ready);
  ASSERT_TRUE(runtime::WriteFileAtomically(folder_ + "/go", "", 0600).ok());
  auto state = Receive(control_);  // Sent without a request.
  ASSERT_TRUE(state.has_value());
  EXPECT_TRUE(state->ready);
  EXPECT_EQ(state->phase, ShimPhase::kRunning);
  Send(control_, {.kind = ShimRequest::Kind::kKill});
  EXPECT_TRUE(Finish().ready);
  EXPECT_EQ(Output(), "7\n");
}

TEST_F(ShimTest, ATaskThatOnlyClosesItsReadyDescriptorIsNotReady) {
  spec_.ready_fd = 7;
  StartShell("exec 7>&-; echo closed; read r <&3");
  AwaitOutput("closed");
  Send(control_, {.kind = ShimRequest::Kind::kKill});
  EXPECT_FALSE(Finish().ready);
}

TEST_F(ShimTest, ATaskThatIsReadyAtItsEndWasReady) {
  spec_.ready_fd = 4;
  StartShell("echo >&4");
  EXPECT_TRUE(Finish().ready);
}

TEST_F(ShimTest, TheReadyDescriptorIsTheOnlyOneMore) {
  spec_.ready_fd = 200;
  Start({"python3", "-c",
         "import os\nprint(sorted(int(f) for f in os.listdir('/proc/self/fd'))[:6])"});
  Finish();
  // (One is the descriptor of the listing itself.)
  EXPECT_EQ(Output(), "[0, 1, 2, 3, 4, 200]\n");
}

TEST_F(ShimTest, TheReadyDescriptorIsNoOtherDescriptor) {
  spec_.ready_fd = 3;
  StartShell("true");
  EXPECT_EQ(Finish().failure, "the ready descriptor is not between 4 and 255: 3");
}

TEST_F(ShimTest, LimitsAreThoseOfTheTask) {
  spec_.limits = {{"nofile", 64, 128}, {"core", 0, 0}};
  StartShell("ulimit -Sn; ulimit -Hn; ulimit -c");
  const ShimState state = Finish();
  EXPECT_EQ(state.failure, "");
  EXPECT_EQ(Output(), "64\n128\n0\n");
}

TEST_F(ShimTest, ALimitThatCannotBeSetIsNamed) {
  spec_.limits = {{"core", 0, 0}, {"nofile", 2, 1}};
  StartShell("true");
  const ShimState state = Finish();
  EXPECT_EQ(state.failure, "cannot set the limit nofile=2:1: Invalid argument");
  EXPECT_EQ(state.error_number, EINVAL);
}

TEST_F(ShimTest, ALimitThatDoesNotExistIsNamed) {
  spec_.limits = {{"luck", 1, 1}};
  StartShell("true");
  EXPECT_EQ(Finish().failure, "unknown limit: luck");
}

TEST_F(ShimTest, ASignalIsPassedOnAndNothingMore) {
  StartShell("trap 'echo got it; exit 3' USR1; echo ready; while :; do read r <&3; done");
  AwaitOutput("ready");
  Send(control_, {.kind = ShimRequest::Kind::kSignal, .signal = SIGUSR1});
  EXPECT_EQ(Finish().exit_code, 3);
  EXPECT_EQ(Output(), "ready\ngot it\n");
}

class OwnedShimTest : public ShimFixture {
 protected:
  OwnedShimTest() {
    runtime::Subprocess::Options options;
    options.argv = {"/bin/sleep", "1000"};
    auto owner = runtime::Subprocess::Start(options);
    EXPECT_TRUE(owner.ok()) << owner.status();
    owner_ = std::move(*owner);
    spec_.owner = owner_->pid();
    spec_.owner_start_ticks = ReadProcess(owner_->pid())->start_ticks;
    spec_.owner_stop_signal = SIGUSR1;
    spec_.owner_stop_grace_ms = 60'000;
  }
  ~OwnedShimTest() override { EndOwner(); }
  void EndOwner() {
    if (!owner_) return;
    EXPECT_TRUE(owner_->Signal(SIGKILL).ok());
    EXPECT_TRUE(owner_->Wait(kDeadline).ok());
    owner_.reset();
  }

  std::optional<runtime::Subprocess> owner_;
};

TEST_F(OwnedShimTest, ItsTaskIsStoppedWhenItsOwnerEnds) {
  StartShell("trap 'echo saved; exit 3' USR1; echo ready; while :; do read r <&3; done");
  AwaitOutput("ready");
  EndOwner();
  const ShimState state = Finish();
  EXPECT_EQ(state.exit_code, 3);
  EXPECT_EQ(state.note, "its launcher has ended");
  EXPECT_EQ(Output(), "ready\nsaved\n");
}

TEST_F(OwnedShimTest, ItsTaskIsNotStartedOnceItsOwnerHasEnded) {
  EndOwner();
  StartShell("echo never");
  EXPECT_EQ(Finish().failure, "its launcher has ended");
  EXPECT_EQ(Output(), "");
}

TEST_F(OwnedShimTest, AnotherProcessOfThatNumberIsNotItsOwner) {
  ++spec_.owner_start_ticks;
  StartShell("echo never");
  EXPECT_EQ(Finish().failure, "its launcher has ended");
}

TEST_F(OwnedShimTest, ItsTaskMayEndBeforeItsOwner) {
  StartShell("exit 2");
  const ShimState state = Finish();
  EXPECT_EQ(state.exit_code, 2);
  EXPECT_EQ(state.note, "");
}

TEST_F(ShimTest, KillOfTheShimTakesTheMainProcessAlongAndTheRestCanBeFound) {
  // Besides the main process, one process has the mark, and each of the others has only one end of
  // the output or of the channel.
  StartShell(
      "setsid sleep 1000 >/dev/null 2>&1 3>&- &\n"
      "env -i setsid -f sleep 1001 2>/dev/null 3>&-\n"
      "env -i setsid -f sleep 1002 >/dev/null 3>&-\n"
      "env -i setsid -f sleep 1003 >/dev/null 2>&1\n"
      "echo ready; read r <&3");
  AwaitOutput("ready");
  Send(control_, {.kind = ShimRequest::Kind::kState});
  const auto state = Receive(control_);
  ASSERT_TRUE(state.has_value());
  const auto tree = Descendants(ReadProcesses(), shim_->pid());
  EXPECT_EQ(tree.size(), 5u);
  ASSERT_TRUE(shim_->Signal(SIGKILL).ok());
  ASSERT_TRUE(shim_->Wait(kDeadline).ok());
  const absl::Time deadline = absl::Now() + kDeadline;
  while (KillOrphanedTree(Orphans(state->pid, state->start_ticks)) > 0) {
    ASSERT_LT(absl::Now(), deadline);
  }
  ExpectGone(tree);
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/exit"));
}

}  // namespace
}  // namespace launcher
