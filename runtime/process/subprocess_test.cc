#include "runtime/process/subprocess.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/event_loop.h"
#include "runtime/file/unique_fd.h"

namespace runtime {
namespace {

using testing::HasSubstr;

std::pair<UniqueFd, UniqueFd> MakePipe() {
  int fds[2];
  EXPECT_EQ(pipe2(fds, O_CLOEXEC), 0);
  return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

// Reads until end of file.
std::string ReadAll(const UniqueFd& fd) {
  std::string all;
  char chunk[4096];
  for (ssize_t got; (got = read(fd.get(), chunk, sizeof(chunk))) > 0;) {
    all.append(chunk, static_cast<std::size_t>(got));
  }
  return all;
}

Subprocess::Options Shell(const std::string& script) {
  return {.argv = {"sh", "-c", script}, .environment = {"PATH=/usr/bin:/bin"}};
}

ExitStatus RunToEnd(const Subprocess::Options& options) {
  auto child = Subprocess::Start(options);
  EXPECT_TRUE(child.ok()) << child.status();
  if (!child.ok()) return {.code = -1};
  auto status = child->Wait(absl::Seconds(30));
  EXPECT_TRUE(status.ok()) << status.status();
  return status.value_or(ExitStatus{.code = -1});
}

// Returns the standard output of the program that `options` starts.
std::string OutputOf(Subprocess::Options options) {
  auto [read_end, write_end] = MakePipe();
  options.fds.emplace_back(write_end.get(), 1);
  auto child = Subprocess::Start(options);
  write_end.reset();
  EXPECT_TRUE(child.ok()) << child.status();
  if (!child.ok()) return "";
  const std::string output = ReadAll(read_end);
  EXPECT_TRUE(child->Wait(absl::Seconds(30)).ok());
  return output;
}

class SubprocessTest : public testing::Test {
 protected:
  SubprocessTest() {
    char name[] = "/tmp/subprocess-XXXXXX";
    directory_ = mkdtemp(name);
  }
  ~SubprocessTest() override { std::filesystem::remove_all(directory_); }
  std::string MakeFile(const std::string& name, const std::string& content, mode_t mode) {
    const std::string path = directory_ + "/" + name;
    std::ofstream(path) << content;
    EXPECT_EQ(chmod(path.c_str(), mode), 0);
    return path;
  }
  std::string directory_;
};

TEST_F(SubprocessTest, ReportsTheExitCode) {
  EXPECT_EQ(RunToEnd(Shell("exit 7")).code, 7);
  EXPECT_TRUE(RunToEnd(Shell("exit 0")).ok());
  EXPECT_EQ(RunToEnd(Shell("exit 7")).ToString(), "exit code 7");
}

TEST_F(SubprocessTest, ReportsTheSignalThatKilledTheChild) {
  const ExitStatus status = RunToEnd(Shell("kill -KILL $$"));
  EXPECT_EQ(status.signal, SIGKILL);
  EXPECT_FALSE(status.ok());
  EXPECT_FALSE(status.core_dumped);
  EXPECT_EQ(status.ToString(), "signal 9 (Killed)");
}

TEST_F(SubprocessTest, SaysWhenACoreWasDumped) {
  EXPECT_EQ((ExitStatus{.signal = SIGSEGV, .core_dumped = true}).ToString(),
            "signal 11 (Segmentation fault), core dumped");
  // With a limit of zero, no core can be dumped.
  EXPECT_FALSE(RunToEnd(Shell("ulimit -c 0; kill -SEGV $$")).core_dumped);
}

TEST_F(SubprocessTest, WaitTimesOutAndMayBeCalledAgain) {
  auto child = *Subprocess::Start(Shell("exec sleep 1000"));
  EXPECT_TRUE(absl::IsDeadlineExceeded(child.Wait(absl::ZeroDuration()).status()));
  EXPECT_TRUE(absl::IsDeadlineExceeded(child.Wait(absl::Milliseconds(1)).status()));
  EXPECT_TRUE(child.Signal(SIGTERM).ok());
  EXPECT_EQ(child.Wait()->signal, SIGTERM);
  EXPECT_EQ(child.Wait(absl::ZeroDuration())->signal, SIGTERM);
}

TEST_F(SubprocessTest, ASignalAfterTheEndIsNotFound) {
  auto child = *Subprocess::Start(Shell("exec sleep 1000"));
  const auto loop = EventLoop::Create();
  loop->Watch(child.pidfd(), EventLoop::Readiness::kReadable, [&] { loop->Stop(); });
  EXPECT_TRUE(child.Signal(SIGKILL).ok());
  loop->Run();
  EXPECT_TRUE(absl::IsNotFound(child.Signal(SIGTERM)));  // Ended, but not reaped.
  EXPECT_EQ(child.Wait()->signal, SIGKILL);
  EXPECT_TRUE(absl::IsNotFound(child.Signal(SIGTERM)));
}

TEST_F(SubprocessTest, TheEnvironmentIsExactlyTheOneGiven) {
  ASSERT_EQ(setenv("INHERITED", "1", 1), 0);
  EXPECT_EQ(OutputOf({.argv = {"env"}, .program = "/usr/bin/env", .environment = {"B=2", "A=x y"}}),
            "B=2\nA=x y\n");
  EXPECT_EQ(OutputOf({.argv = {"env"}, .program = "/usr/bin/env"}), "");
}

TEST_F(SubprocessTest, ArgumentsArriveAsTheyAre) {
  auto options = Shell(R"(printf '%s|' "$0" "$@")");
  for (const char* argument : {"zero", "", "a b", "*", "$HOME", "-n"}) {
    options.argv.push_back(argument);
  }
  EXPECT_EQ(OutputOf(options), "zero||a b|*|$HOME|-n|");
}

TEST_F(SubprocessTest, RunsInTheDirectoryGiven) {
  auto options = Shell("pwd");
  options.working_directory = directory_;
  EXPECT_EQ(OutputOf(options), directory_ + "\n");
  // A relative program path is resolved there too.
  MakeFile("here", "#!/bin/sh\necho found $0\n", 0755);
  options.argv = {"./here"};
  EXPECT_EQ(OutputOf(options), "found ./here\n");
}

TEST_F(SubprocessTest, DescriptorsMayBeSwapped) {
  auto [read_a, write_a] = MakePipe();
  auto [read_b, write_b] = MakePipe();
  const int a = write_a.get();
  const int b = write_b.get();
  auto options = Shell("echo to-a >&" + std::to_string(b) + "; echo to-b >&" + std::to_string(a));
  options.fds = {{a, b}, {b, a}};
  ASSERT_LT(std::max(a, b), 10) << "dash knows one digit only";
  auto child = Subprocess::Start(options);
  ASSERT_TRUE(child.ok()) << child.status();
  write_a.reset();
  write_b.reset();
  EXPECT_EQ(ReadAll(read_a), "to-a\n");
  EXPECT_EQ(ReadAll(read_b), "to-b\n");
  EXPECT_TRUE(child->Wait()->ok());
}

TEST_F(SubprocessTest, OneDescriptorMayBeGivenUnderSeveralNumbers) {
  auto [read_end, write_end] = MakePipe();
  auto options = Shell("echo out; echo err >&2; echo five >&5");
  options.fds = {{write_end.get(), 1}, {write_end.get(), 2}, {write_end.get(), 5}};
  auto child = *Subprocess::Start(options);
  write_end.reset();
  EXPECT_EQ(ReadAll(read_end), "out\nerr\nfive\n");
  EXPECT_TRUE(child.Wait()->ok());
}

TEST_F(SubprocessTest, OnlyTheDescriptorsNamedReachTheChild) {
  const UniqueFd leak(open("/dev/null", O_RDONLY));  // Inheritable.
  ASSERT_EQ(dup2(leak.get(), 77), 77);
  const UniqueFd high(77);
  auto options = Shell("exec ls /proc/self/fd");
  EXPECT_EQ(OutputOf(options), "0\n1\n2\n3\n");  // 3 is the directory that ls reads.
  options.fds = {{leak.get(), 9}};
  EXPECT_EQ(OutputOf(options), "0\n1\n2\n3\n9\n");
}

TEST_F(SubprocessTest, UnnamedStandardDescriptorsAreTheNullDevice) {
  EXPECT_EQ(OutputOf(Shell("readlink /proc/$$/fd/0; readlink /proc/$$/fd/2; cat; echo lost >&2")),
            "/dev/null\n/dev/null\n");
}

TEST_F(SubprocessTest, SignalsHaveTheirDefaultMeaning) {
  sigset_t blocked, before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  signal(SIGPIPE, SIG_IGN);
  EXPECT_EQ(RunToEnd(Shell("kill -TERM $$; exit 3")).signal, SIGTERM);
  EXPECT_EQ(RunToEnd(Shell("kill -PIPE $$; exit 3")).signal, SIGPIPE);
  signal(SIGPIPE, SIG_DFL);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST_F(SubprocessTest, ExitCodesSurviveThatSigchldIsIgnored) {
  signal(SIGCHLD, SIG_IGN);
  EXPECT_EQ(RunToEnd(Shell("exit 5")).code, 5);
}

TEST_F(SubprocessTest, MayLeadASessionAndBeSignalledWithAllOfIt) {
  auto [read_end, write_end] = MakePipe();
  auto options = Shell("sleep 1000 & echo; wait");
  options.fds = {{write_end.get(), 1}};
  options.new_session = true;
  auto child = *Subprocess::Start(options);
  write_end.reset();
  EXPECT_EQ(getsid(child.pid()), child.pid());
  EXPECT_EQ(getpgid(child.pid()), child.pid());
  char byte = 0;
  ASSERT_EQ(read(read_end.get(), &byte, 1), 1);  // The grandchild is running.
  EXPECT_TRUE(child.SignalGroup(SIGKILL).ok());
  EXPECT_EQ(ReadAll(read_end), "");  // The grandchild held the pipe until it was killed too.
  EXPECT_EQ(child.Wait()->signal, SIGKILL);
}

TEST_F(SubprocessTest, WithoutASessionThereIsNoGroupToSignal) {
  auto child = *Subprocess::Start(Shell("exec sleep 1000"));
  EXPECT_EQ(getsid(child.pid()), getsid(0));
  EXPECT_TRUE(absl::IsFailedPrecondition(child.SignalGroup(SIGKILL)));
  EXPECT_TRUE(child.Signal(SIGKILL).ok());
  EXPECT_TRUE(child.Wait().ok());
}

TEST_F(SubprocessTest, AMissingProgramIsNotFound) {
  const auto on_path =
      Subprocess::Start({.argv = {"no-such-program"}, .environment = {"PATH=/usr/bin"}}).status();
  EXPECT_TRUE(absl::IsNotFound(on_path)) << on_path;
  EXPECT_THAT(std::string(on_path.message()), HasSubstr("no-such-program on the PATH /usr/bin"));
  const auto by_path = Subprocess::Start({.argv = {"x"}, .program = directory_ + "/x"}).status();
  EXPECT_TRUE(absl::IsNotFound(by_path)) << by_path;
  EXPECT_THAT(std::string(by_path.message()), HasSubstr(directory_ + "/x"));
}

TEST_F(SubprocessTest, AMissingInterpreterIsToldFromAMissingProgram) {
  const std::string script = MakeFile("script", "#!/no/such/interpreter\n", 0755);
  const auto status = Subprocess::Start({.argv = {script}}).status();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("interpreter"));
}

TEST_F(SubprocessTest, AFileThatIsNoProgramIsInvalid) {
  const auto status = Subprocess::Start({.argv = {MakeFile("text", "hello\n", 0755)}}).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
}

TEST_F(SubprocessTest, AFileThatMustNotBeExecutedIsDenied) {
  const std::string path = MakeFile("plain", "#!/bin/sh\n", 0644);
  for (const auto& options :
       {Subprocess::Options{.argv = {path}},
        Subprocess::Options{.argv = {"plain"}, .environment = {"PATH=" + directory_}}}) {
    const auto status = Subprocess::Start(options).status();
    EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(path));
  }
}

TEST_F(SubprocessTest, AMissingDirectoryIsNotFoundAndNamed) {
  auto options = Shell("true");
  options.working_directory = directory_ + "/gone";
  const auto status = Subprocess::Start(options).status();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(directory_ + "/gone"));
  options.working_directory = MakeFile("file", "", 0644);
  EXPECT_FALSE(Subprocess::Start(options).ok());
}

TEST_F(SubprocessTest, BadOptionsAreInvalid) {
  EXPECT_TRUE(absl::IsInvalidArgument(Subprocess::Start({}).status()));
  auto nul = Shell("true");
  nul.environment.push_back(std::string("A=\0b", 4));
  EXPECT_TRUE(absl::IsInvalidArgument(Subprocess::Start(nul).status()));
  auto twice = Shell("true");
  twice.fds = {{0, 3}, {1, 3}};
  EXPECT_TRUE(absl::IsInvalidArgument(Subprocess::Start(twice).status()));
  auto far = Shell("true");
  far.fds = {{0, 100000}};
  EXPECT_TRUE(absl::IsInvalidArgument(Subprocess::Start(far).status()));
  auto closed = Shell("true");
  closed.fds = {{999, 3}};
  EXPECT_FALSE(Subprocess::Start(closed).ok());
}

TEST_F(SubprocessTest, StartingLeavesNoDescriptorBehind) {
  const auto count = [] {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
  };
  auto options = Shell("true");
  const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  options.fds = {{null.get(), 1}, {null.get(), 2}, {null.get(), 3}};
  const auto before = count();
  for (int i = 0; i < 3; ++i) {
    RunToEnd(options);
    EXPECT_FALSE(Subprocess::Start({.argv = {"/no/such"}, .fds = options.fds}).ok());
  }
  EXPECT_EQ(count(), before);
}

TEST_F(SubprocessTest, AProgramIsSearchedAsAShellWould) {
  MakeFile("tool", "#!/bin/sh\n", 0755);
  std::filesystem::create_directory(directory_ + "/first");
  std::filesystem::create_directory(directory_ + "/first/tool");  // A directory is not a program.
  EXPECT_EQ(*FindProgram("tool", directory_ + "/first:" + directory_, "/"), directory_ + "/tool");
  // An empty or relative entry of PATH is relative to the working directory.
  EXPECT_EQ(*FindProgram("tool", "/usr/bin:", directory_), directory_ + "/./tool");
  EXPECT_EQ(*FindProgram("./tool", "/usr/bin", directory_), "./tool");
  EXPECT_TRUE(absl::IsNotFound(FindProgram("./none", "/usr/bin", directory_).status()));
  EXPECT_TRUE(absl::IsNotFound(FindProgram("", "/usr/bin", directory_).status()));
  MakeFile("plain", "#!/bin/sh\n", 0644);
  EXPECT_TRUE(absl::IsPermissionDenied(FindProgram("./plain", "/usr/bin", directory_).status()));
  EXPECT_TRUE(absl::IsPermissionDenied(FindProgram("plain", directory_, "/").status()));
}

}  // namespace
}  // namespace runtime
