// Tests the program yard-node, whose processes are killed; the test acts as the launcher.

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "launcher/fixtures/shim_fixture.h"
#include "launcher/node/fake_launcher.h"
#include "launcher/node/words/node_words.h"
#include "launcher/process/process_table.h"
#include "launcher/wire/shim_protocol.h"
#include "runtime/archive/tar_writer.h"
#include "runtime/file/file.h"
#include "runtime/file/locations.h"
#include "runtime/file/unique_fd.h"
#include "runtime/mutex.h"
#include "runtime/process/subprocess.h"
#include "runtime/text/sha256.h"

namespace launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Order = NodeOrder::Kind;
using News = NodeNews::Kind;

// Longer than the node waits for an acknowledgement.
constexpr absl::Duration kToEnd = absl::Seconds(30);

std::string TemporaryFolder() {
  char name[] = "/tmp/ynpXXXXXX";
  return mkdtemp(name);
}

bool IsGone(pid_t pid) {
  const auto row = ReadProcess(pid);
  return !row || row->over;
}

// Polls a condition, since the ends of processes that are not ours give no event.
bool AwaitTrue(const std::function<bool()>& condition) {
  const absl::Time deadline = absl::Now() + kDeadline;
  runtime::Mutex mutex;
  runtime::CondVar never;
  while (!condition()) {
    if (absl::Now() >= deadline) return false;
    runtime::MutexLock lock(mutex);
    never.WaitWithTimeout(mutex, absl::Milliseconds(2));
  }
  return true;
}

class NodeProgramTest : public testing::Test {
 protected:
  NodeProgramTest() : launcher_(folder_ + "/l") {}
  ~NodeProgramTest() override {
    if (node_ && !node_->Wait(absl::ZeroDuration()).ok()) {
      (void)node_->Signal(SIGTERM);
      if (!node_->Wait(kToEnd).ok()) (void)node_->Signal(SIGKILL);
    }
    std::filesystem::remove_all(folder_);
  }

  std::string node_folder() const { return folder_ + "/node"; }
  runtime::Subprocess Run(const std::vector<std::string>& words) {
    runtime::Subprocess::Options options;
    options.argv = {"yard-node"};
    options.argv.insert(options.argv.end(), words.begin(), words.end());
    options.program = runtime::FindBinary("launcher/node/yard-node").value_or("");
    options.environment = {"PATH=/usr/bin:/bin", "HOME=" + folder_};
    const runtime::UniqueFd said(
        open(Said().c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600));
    options.fds = {{said.get(), STDOUT_FILENO}, {said.get(), STDERR_FILENO}};
    auto started = runtime::Subprocess::Start(options);
    EXPECT_TRUE(started.ok()) << started.status();
    return *std::move(started);
  }
  std::vector<std::string> Words() const {
    return {"--folder=" + node_folder(), "--launcher_socket=" + folder_ + "/l",
            "--shim=" + runtime::FindBinary("launcher/yard-shim").value_or("")};
  }
  // File with the output of the last program.
  std::string Said() const { return folder_ + "/said"; }
  std::string SaidText() const { return runtime::ReadFile(Said(), 1 << 20).value_or(""); }
  NodeHello StartNode() {
    node_ = Run(Words());
    return launcher_.Welcome().value_or(NodeHello());
  }
  // Starts an attempt; returns its state once it runs.
  ShimState Start(const std::string& key, const std::string& script,
                  std::int64_t owner_grace_ms = 0) {
    const ShimSpec spec{.argv = {"sh", "-c", script},
                        .environment = {"PATH=/usr/bin:/bin", "FOLDER=" + folder_},
                        .working_directory = folder_,
                        .owner_stop_grace_ms = owner_grace_ms};
    launcher_.Send({.kind = Order::kStart, .attempt = key, .spec = spec.Encode()});
    // All these programs write output when they are up.
    const auto running = launcher_.Await([&](const NodeNews& news) {
      return news.attempt == key && news.kind == News::kState && news.state.stdout_end > 0;
    });
    return running.value_or(NodeNews()).state;
  }
  // Makes an archive with this program as `sub/go`.
  static std::string Archive(const std::string& script) {
    std::string archive;
    runtime::TarWriter writer([&](std::string_view bytes) {
      archive += bytes;
      return absl::OkStatus();
    });
    const std::string path = TemporaryFolder() + "/script";
    EXPECT_TRUE(runtime::WriteFileAtomically(path, script, 0600).ok());
    const runtime::UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    EXPECT_TRUE(writer.AddFile("sub/go", fd.get(), script.size(), true).ok());
    EXPECT_TRUE(writer.Finish().ok());
    std::filesystem::remove_all(std::filesystem::path(path).parent_path());
    return archive;
  }
  // Makes the order of an attempt that runs ./go in the archive's subdirectory.
  NodeOrder StartWith(const std::string& key, const std::string& archive) const {
    const ShimSpec spec{
        .argv = {"./go"},
        .environment = {"PATH=/usr/bin:/bin", "FOLDER=" + folder_, "YARD_LOGDIR=/not/there/run",
                        "YARD_CONFIG=/not/there/run/params.json"},
        .working_directory = "/not/there/code/sub"};
    const NodeFiles files{.node = "far",
                          .config = "{\"lr\":1}",
                          .work = runtime::Sha256Hex(archive),
                          .work_bytes = archive.size(),
                          .subdirectory = "sub"};
    return {.kind = Order::kStart, .attempt = key, .spec = spec.Encode(), .files = files.Encode()};
  }
  // Answers the next request for the archive with at most `most` bytes.
  NodeWant GivePiece(const std::string& archive, std::size_t most) {
    const NodeWant want = launcher_.AwaitWant().value_or(NodeWant());
    launcher_.Send({.kind = Order::kWork,
                    .attempt = want.attempt,
                    .offset = want.offset,
                    .work = want.work,
                    .bytes = archive.substr(want.offset, most)});
    return want;
  }
  NodeNews AwaitOver(const std::string& key) {
    return launcher_.Await(key, News::kOver).value_or(NodeNews());
  }
  void Acknowledge(const std::string& key) {
    launcher_.Send({.kind = Order::kAcknowledge, .attempt = key});
    (void)launcher_.Await(key, News::kLeft);
    launcher_.Hear();
  }
  // Expects that the node exits by itself with this code.
  void ExpectEnd(int code) {
    const auto status = node_->Wait(kToEnd);
    ASSERT_TRUE(status.ok()) << status.status();
    EXPECT_EQ(status->ToString(), runtime::ExitStatus{.code = code}.ToString()) << SaidText();
  }

  const std::string folder_ = TemporaryFolder();
  FakeLauncher launcher_;
  std::optional<runtime::Subprocess> node_;
};

TEST_F(NodeProgramTest, TellsItsHost) {
  const NodeHello hello = StartNode();
  EXPECT_EQ(hello.protocol, kNodeProtocol);
  EXPECT_EQ(hello.node.size(), 32u);
  EXPECT_FALSE(hello.host.empty());
  EXPECT_FALSE(hello.version.empty());
  EXPECT_GE(hello.cpus, 1u);
  EXPECT_GT(hello.memory_bytes, std::uint64_t{1} << 20);
  EXPECT_NE(hello.pid, node_->pid());
}

TEST_F(NodeProgramTest, AfterAKillOfItsWorkerAttemptsGoOnAndAreToldOnce) {
  const NodeHello first = StartNode();
  (void)Start("meanwhile", "echo up; while [ ! -e $FOLDER/end ]; do sleep 0.01; done; exit 4");
  const ShimState running =
      Start("a",
            "echo up; echo x >> $FOLDER/ran; while [ ! -e $FOLDER/go ]; do sleep 0.01; done;"
            "echo last; exit 3");
  ASSERT_EQ(kill(first.pid, SIGKILL), 0);
  ASSERT_TRUE(runtime::WriteFileAtomically(folder_ + "/end", "", 0600).ok());
  const NodeHello second = launcher_.Welcome().value_or(NodeHello());
  EXPECT_EQ(second.node, first.node);
  EXPECT_NE(second.pid, first.pid);
  EXPECT_THAT(second.attempts, ElementsAre("a", "meanwhile"));
  EXPECT_FALSE(IsGone(running.pid));
  EXPECT_EQ(AwaitOver("meanwhile").state.exit_code, 4);
  ASSERT_TRUE(runtime::WriteFileAtomically(folder_ + "/go", "", 0600).ok());
  EXPECT_EQ(AwaitOver("a").state.exit_code, 3);
  EXPECT_EQ(launcher_.ReadAll("a"), "up\nlast\n");
  EXPECT_EQ(runtime::ReadFile(folder_ + "/ran", 100).value_or(""), "x\n");
  Acknowledge("a");
  Acknowledge("meanwhile");
  EXPECT_TRUE(std::filesystem::is_empty(node_folder() + "/attempts"));
}

TEST_F(NodeProgramTest, AfterAKillOfItsStubNothingLivesAndTheNextNodeTellsTheEnd) {
  const NodeHello first = StartNode();
  const ShimState running = Start(
      "a", "trap '' TERM; sleep 1000 & echo up; while :; do sleep 1; done", /*owner_grace_ms=*/50);
  ASSERT_TRUE(node_->Signal(SIGKILL).ok());
  ASSERT_TRUE(node_->Wait(kDeadline).ok());
  EXPECT_TRUE(AwaitTrue([&] { return IsGone(first.pid) && IsGone(running.pid); }));
  const NodeHello second = StartNode();
  EXPECT_NE(second.node, first.node);
  EXPECT_THAT(second.attempts, ElementsAre("a"));
  EXPECT_EQ(AwaitOver("a").state.signal, SIGKILL);
  Acknowledge("a");
  EXPECT_TRUE(AwaitTrue([&] { return IsGone(running.shim_pid); }));
}

TEST_F(NodeProgramTest, FilesThatComeAlongAreThereOfOneArchiveForAllAttempts) {
  const std::string archive = Archive(
      "#!/bin/sh\npwd; cat $YARD_CONFIG; echo made > $YARD_LOGDIR/made; echo x >> $FOLDER/ran\n");
  (void)StartNode();
  launcher_.Send(StartWith("a", archive));
  (void)GivePiece(archive, archive.size());
  const NodeNews over = AwaitOver("a");
  EXPECT_EQ(over.state.exit_code, 0) << over.how;
  const std::string folder = node_folder() + "/attempts/a";
  EXPECT_EQ(launcher_.ReadAll("a"), folder + "/work/sub\n{\"lr\":1}");
  EXPECT_TRUE(std::filesystem::exists(folder + "/run/made"));
  Acknowledge("a");
  EXPECT_FALSE(std::filesystem::exists(folder));
  // The archive is not requested again.
  launcher_.Send(StartWith("b", archive));
  EXPECT_EQ(AwaitOver("b").state.exit_code, 0);
  Acknowledge("b");
  EXPECT_EQ(runtime::ReadFile(folder_ + "/ran", 100).value_or(""), "x\nx\n");
  ASSERT_TRUE(node_->Signal(SIGTERM).ok());
  ExpectEnd(0);
  EXPECT_FALSE(std::filesystem::exists(node_folder()));
}

TEST_F(NodeProgramTest, AfterAKillOfItsWorkerAnArchiveGoesOnAndTheProgramRunsOnce) {
  const std::string archive = Archive("#!/bin/sh\necho x >> $FOLDER/ran\n");
  const NodeHello first = StartNode();
  launcher_.Send(StartWith("a", archive));
  (void)GivePiece(archive, 700);
  // The next piece is requested once this one is on the disk.
  EXPECT_EQ(launcher_.AwaitWant().value_or(NodeWant()).offset, 700u);
  ASSERT_EQ(kill(first.pid, SIGKILL), 0);
  // The attempt was not started, so the launcher orders it again.
  EXPECT_THAT(launcher_.Welcome().value_or(NodeHello()).attempts, ElementsAre());
  launcher_.Send(StartWith("a", archive));
  EXPECT_EQ(GivePiece(archive, archive.size()).offset, 700u);
  const NodeNews over = AwaitOver("a");
  EXPECT_EQ(over.state.exit_code, 0) << over.how;
  EXPECT_EQ(runtime::ReadFile(folder_ + "/ran", 100).value_or(""), "x\n");
  Acknowledge("a");
}

TEST_F(NodeProgramTest, WhatIsStoppedWhileItsFilesComeNeverRuns) {
  const std::string archive = Archive("#!/bin/sh\necho x >> $FOLDER/ran\n");
  (void)StartNode();
  launcher_.Send(StartWith("stopped", archive));
  launcher_.Send(StartWith("discarded", archive));
  (void)launcher_.AwaitWant();
  launcher_.Send({.kind = Order::kStop, .attempt = "stopped", .signal = SIGTERM});
  EXPECT_EQ(AwaitOver("stopped").how, "stopped before its program was started");
  launcher_.Send({.kind = Order::kDiscard, .attempt = "discarded"});
  (void)launcher_.Await("discarded", News::kLeft);
  Acknowledge("stopped");
  launcher_.Send(StartWith("last", archive));
  (void)launcher_.AwaitWant();
  ASSERT_TRUE(node_->Signal(SIGTERM).ok());
  EXPECT_EQ(AwaitOver("last").how, "stopped before its program was started");
  Acknowledge("last");
  ExpectEnd(0);
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/ran"));
}

TEST_F(NodeProgramTest, SigtermStopsAllAndLeavesNothing) {
  const NodeHello hello = StartNode();
  const ShimState running = Start("a", "trap 'exit 6' TERM; echo up; while :; do sleep 0.01; done");
  ASSERT_TRUE(node_->Signal(SIGTERM).ok());
  EXPECT_EQ(AwaitOver("a").state.exit_code, 6);
  Acknowledge("a");
  ExpectEnd(0);
  for (const pid_t pid : {hello.pid, running.pid, running.shim_pid}) EXPECT_TRUE(IsGone(pid));
  EXPECT_FALSE(std::filesystem::exists(node_folder()));
}

TEST_F(NodeProgramTest, SigtermStopsAllAlsoIfTheWorkerIsKilledMeanwhile) {
  const NodeHello hello = StartNode();
  const ShimState running = Start(
      "a",
      "trap 'echo term; while [ ! -e $FOLDER/go ]; do sleep 0.01; done; exit 6' TERM; echo up;"
      "while :; do sleep 0.01; done");
  ASSERT_TRUE(node_->Signal(SIGTERM).ok());
  (void)launcher_.Await([](const NodeNews& news) { return news.state.stdout_end >= 8; });
  ASSERT_EQ(kill(hello.pid, SIGKILL), 0);
  EXPECT_THAT(launcher_.Welcome().value_or(NodeHello()).attempts, ElementsAre("a"));
  ASSERT_TRUE(runtime::WriteFileAtomically(folder_ + "/go", "", 0600).ok());
  EXPECT_EQ(AwaitOver("a").state.exit_code, 6);
  Acknowledge("a");
  ExpectEnd(0);
  EXPECT_TRUE(IsGone(running.shim_pid));
  EXPECT_FALSE(std::filesystem::exists(node_folder()));
}

TEST_F(NodeProgramTest, AnEndThatNobodyAcknowledgesIsKeptInTheFolder) {
  (void)StartNode();
  const ShimState running = Start("a", "trap 'exit 6' TERM; echo up; while :; do sleep 0.01; done");
  launcher_.StopListening();
  launcher_.Close();
  ASSERT_TRUE(node_->Signal(SIGTERM).ok());
  ExpectEnd(0);
  for (const pid_t pid : {running.pid, running.shim_pid}) EXPECT_TRUE(IsGone(pid));
  EXPECT_THAT(SaidText(), HasSubstr("kept " + node_folder()));
  EXPECT_TRUE(std::filesystem::exists(node_folder() + "/attempts/a/exit"));
  EXPECT_FALSE(std::filesystem::exists(node_folder() + "/sockets"));
}

TEST_F(NodeProgramTest, ASecondNodeOnAFolderEndsAndNamesTheFirst) {
  (void)StartNode();
  auto second = Run(Words());
  EXPECT_EQ(second.Wait(kToEnd)->code, 6);
  EXPECT_THAT(SaidText(), HasSubstr(absl::StrCat("is locked by process ", node_->pid())));
  ASSERT_TRUE(node_->Signal(SIGTERM).ok());
  ExpectEnd(0);
}

TEST_F(NodeProgramTest, ATaskOfAnotherSlurmJobIsNone) {
  node_ = Run({"--slurm"});
  EXPECT_EQ(node_->Wait(kToEnd)->code, 2);
  EXPECT_THAT(SaidText(), HasSubstr("$SLURM_JOB_ID is missing or wrong"));
}

TEST_F(NodeProgramTest, FlagsThatAreWrongEndIt) {
  EXPECT_EQ(Run({}).Wait(kToEnd)->code, 2);
  EXPECT_THAT(SaidText(), HasSubstr("--folder is missing"));
  EXPECT_EQ(Run({"--folder=" + node_folder()}).Wait(kToEnd)->code, 2);
  EXPECT_THAT(SaidText(), HasSubstr("--launcher_socket is missing"));
  EXPECT_EQ(Run({"--foldr=x"}).Wait(kToEnd)->code, 2);
  EXPECT_THAT(SaidText(), HasSubstr("did you mean --folder?"));
  std::vector<std::string> words = Words();
  words[0] = "--folder=" + folder_ + "/" + std::string(100, 'x');
  EXPECT_EQ(Run(words).Wait(kToEnd)->code, 2);
  EXPECT_THAT(SaidText(), HasSubstr("is too long"));
  EXPECT_EQ(Run({"--version"}).Wait(kToEnd)->code, 0);
  EXPECT_THAT(SaidText(), HasSubstr("yard-node "));
  EXPECT_EQ(Run({"--help"}).Wait(kToEnd)->code, 0);
  EXPECT_THAT(SaidText(), HasSubstr("--launcher_socket"));
}

}  // namespace
}  // namespace launcher
