// Tests the keeper of a host with the real yard-node; `ssh` is a script that runs commands on this
// machine.

#include "tools/yard/pool/host_keeper.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "launcher/node/fake_launcher.h"
#include "launcher/node/words/node_words.h"
#include "runtime/file/file.h"
#include "runtime/file/locations.h"
#include "runtime/file/unique_fd.h"
#include "runtime/mutex.h"
#include "runtime/thread.h"
#include "tools/yard/pool/bundle.h"
#include "tools/yard/pool/host_state.h"

namespace yard {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Phase = HostState::Phase;

constexpr absl::Duration kDeadline = absl::Seconds(60);
constexpr char kKey[] = "0123456789ab";

// Runs the command with $HOME below the test's directory, forwards a socket by a symbolic link, and
// fails to connect while the file `down` exists.
constexpr char kSsh[] = R"(#!/bin/sh
f=${0%/*}
while [ $# -gt 0 ]; do
  case $1 in
    -R) forwards="$forwards $2"; shift 2 ;;
    -o) shift 2 ;;
    --) shift; break ;;
    *) shift ;;
  esac
done
if [ -e "$f/down" ]; then echo "ssh: connect to host $1 port 22: No route to host" >&2; exit 255; fi
echo $$ >> "$f/sessions"
for forward in $forwards; do ln -s "${forward#*:}" "${forward%%:*}"; done
HOME=$f/$1 TMPDIR=$f/$1 exec sh -c "$2"
)";

std::string TemporaryFolder() {
  char name[] = "/tmp/ykXXXXXX";
  return mkdtemp(name);
}

// A running keeper.
class Kept {
 public:
  Kept(const std::string& folder, const std::string& launcher_socket) {
    HostKeeperOptions options = {
        .host = {.address = "a", .node = "a"},
        .key = kKey,
        .environment = {"PATH=/usr/bin:/bin", absl::StrCat("YARD_SSH=", folder, "/ssh")},
        .read_bundle =
            [] {
              return ReadBundle(runtime::FindBinary("launcher/node/yard-node").value_or(""),
                                runtime::FindBinary("launcher/yard-shim").value_or(""));
            },
        .set_node = [launcher_socket]() -> absl::StatusOr<NodeSockets> {
          return NodeSockets{.launcher = launcher_socket, .trainer = launcher_socket};
        },
        .say =
            [this](const HostState& state) {
              runtime::MutexLock lock(mutex_);
              states_.push_back(state);
              changed_.SignalAll();
            },
        .stop = stop_.get(),
        .first_pause = absl::Milliseconds(1),
        .longest_pause = absl::Milliseconds(10)};
    thread_ = std::make_unique<runtime::Thread>(
        "keeper", [options = std::move(options)] { RunHostKeeper(options); });
  }
  ~Kept() { (void)Stop(); }

  // Stops the keeper, and returns its last state.
  HostState Stop() {
    const std::uint64_t one = 1;
    EXPECT_EQ(write(stop_.get(), &one, sizeof one), static_cast<ssize_t>(sizeof one));
    EXPECT_TRUE(thread_->Join(absl::Minutes(2)));
    runtime::MutexLock lock(mutex_);
    return states_.back();
  }
  // Waits until the newest state has this phase, and returns it; sets `phases` to the phases since
  // the last call.
  HostState Await(Phase phase, std::vector<Phase>* phases = nullptr) {
    const absl::Time deadline = absl::Now() + kDeadline;
    runtime::MutexLock lock(mutex_);
    for (; seen_ < states_.size() || absl::Now() < deadline;) {
      if (seen_ == states_.size()) {
        changed_.WaitWithTimeout(mutex_, deadline - absl::Now());
        continue;
      }
      const HostState& state = states_[seen_++];
      if (phases != nullptr) phases->push_back(state.phase);
      if (state.phase == phase) return state;
    }
    ADD_FAILURE() << "it never was " << NameOfPhase(phase);
    return {};
  }

 private:
  const runtime::UniqueFd stop_{eventfd(0, EFD_CLOEXEC)};
  runtime::Mutex mutex_;
  runtime::CondVar changed_;
  std::vector<HostState> states_ ABSL_GUARDED_BY(mutex_);
  std::size_t seen_ ABSL_GUARDED_BY(mutex_) = 0;
  std::unique_ptr<runtime::Thread> thread_;
};

class HostKeeperTest : public testing::Test {
 protected:
  HostKeeperTest() {
    std::filesystem::create_directory(host());
    EXPECT_TRUE(runtime::WriteFileAtomically(folder_ + "/ssh", kSsh, 0700).ok());
  }
  ~HostKeeperTest() override {
    kept_.reset();
    std::filesystem::remove_all(folder_);
  }

  std::string host() const { return folder_ + "/a"; }
  std::string directory() const { return host() + "/yard-" + kKey; }
  Kept& Start() {
    kept_ = std::make_unique<Kept>(folder_, folder_ + "/launcher");
    return *kept_;
  }
  // Returns the pid of the running node's stub.
  pid_t NodePid() const {
    int pid = 0;
    EXPECT_TRUE(
        absl::SimpleAtoi(runtime::ReadFile(directory() + "/n/lock", 100).value_or(""), &pid));
    return pid;
  }
  pid_t LastSession() const {
    const std::vector<std::string> pids = absl::StrSplit(
        runtime::ReadFile(folder_ + "/sessions", 1 << 20).value_or(""), '\n', absl::SkipEmpty());
    int pid = 0;
    EXPECT_TRUE(!pids.empty() && absl::SimpleAtoi(pids.back(), &pid));
    return pid;
  }
  void CutCable() const {
    EXPECT_TRUE(runtime::WriteFileAtomically(folder_ + "/down", "", 0600).ok());
  }
  void MendCable() const { std::filesystem::remove(folder_ + "/down"); }

  const std::string folder_ = TemporaryFolder();
  launcher::FakeLauncher launcher_{folder_ + "/launcher"};
  std::unique_ptr<Kept> kept_;
};

TEST_F(HostKeeperTest, CopiesStartsAndLeavesNothing) {
  Kept& kept = Start();
  std::vector<Phase> phases;
  kept.Await(Phase::kConnected, &phases);
  EXPECT_THAT(phases, ElementsAre(Phase::kConnecting, Phase::kCopying, Phase::kConnected));
  ASSERT_TRUE(launcher_.Welcome().has_value());
  const auto mode = std::filesystem::status(directory()).permissions();
  EXPECT_EQ(mode, std::filesystem::perms::owner_all);
  const pid_t node = NodePid();
  EXPECT_EQ(kill(node, 0), 0);
  EXPECT_EQ(kept.Stop(), (HostState{.phase = Phase::kLeft}));
  EXPECT_TRUE(std::filesystem::is_empty(host()));
  EXPECT_NE(kill(node, 0), 0);
}

TEST_F(HostKeeperTest, AfterAKillOfSshTheSameNodeGoesOn) {
  Kept& kept = Start();
  kept.Await(Phase::kConnected);
  const pid_t node = NodePid();
  ASSERT_EQ(kill(LastSession(), SIGKILL), 0);
  std::vector<Phase> phases;
  EXPECT_THAT(kept.Await(Phase::kAway, &phases).why, HasSubstr("cannot reach a: "));
  kept.Await(Phase::kConnected, &phases);
  EXPECT_THAT(phases, ElementsAre(Phase::kAway, Phase::kConnecting, Phase::kConnected));
  EXPECT_EQ(NodePid(), node);
}

TEST_F(HostKeeperTest, TheNextKeeperTakesTheNodeOver) {
  Kept& first = Start();
  first.Await(Phase::kConnected);
  const pid_t node = NodePid();
  Kept second(folder_, folder_ + "/launcher");
  std::vector<Phase> phases;
  second.Await(Phase::kConnected, &phases);
  EXPECT_THAT(phases, ElementsAre(Phase::kConnecting, Phase::kConnected));
  EXPECT_EQ(NodePid(), node);
}

TEST_F(HostKeeperTest, ANodeThatWasKilledIsStartedAgain) {
  Kept& kept = Start();
  kept.Await(Phase::kConnected);
  const pid_t node = NodePid();
  ASSERT_EQ(kill(node, SIGKILL), 0);
  EXPECT_THAT(kept.Await(Phase::kAway).why, HasSubstr("a: yard-node has ended there"));
  kept.Await(Phase::kConnected);
  EXPECT_NE(NodePid(), node);
}

TEST_F(HostKeeperTest, AHostThatCannotBeReachedIsTriedAgain) {
  CutCable();
  Kept& kept = Start();
  EXPECT_EQ(kept.Await(Phase::kAway).why,
            absl::StrCat("cannot reach a: ssh: connect to host a port 22: No route to host; next: ",
                         folder_, "/ssh a true"));
  MendCable();
  kept.Await(Phase::kConnected);
}

TEST_F(HostKeeperTest, WhatIsLeftOnAHostThatIsAwayIsSaid) {
  Kept& kept = Start();
  kept.Await(Phase::kConnected);
  CutCable();
  ASSERT_EQ(kill(LastSession(), SIGKILL), 0);
  kept.Await(Phase::kAway);
  const HostState left = kept.Stop();
  EXPECT_EQ(left.phase, Phase::kLeft);
  EXPECT_THAT(left.why,
              AllOf(HasSubstr(absl::StrCat("yard-", kKey)), HasSubstr("may be left on a")));
  // The next keeper removes it.
  MendCable();
  Kept next(folder_, folder_ + "/launcher");
  next.Await(Phase::kConnected);
  EXPECT_EQ(next.Stop().why, "");
  EXPECT_TRUE(std::filesystem::is_empty(host()));
}

TEST_F(HostKeeperTest, AFullDiskIsNamed) {
  // A directory that cannot be replaced by the copied bundle simulates a full disk.
  std::filesystem::create_directory(directory());
  std::filesystem::permissions(directory(), std::filesystem::perms::owner_all);
  const auto bundle = ReadBundle(runtime::FindBinary("launcher/node/yard-node").value_or(""),
                                 runtime::FindBinary("launcher/yard-shim").value_or(""));
  ASSERT_TRUE(bundle.ok());
  const std::string ssh = runtime::ReadFile(folder_ + "/ssh", 1 << 20).value_or("");
  ASSERT_TRUE(
      runtime::WriteFileAtomically(
          folder_ + "/ssh", absl::StrCat("#!/bin/sh\ntrap '' XFSZ\nulimit -f 100\n", ssh), 0700)
          .ok());
  Kept& kept = Start();
  EXPECT_THAT(kept.Await(Phase::kAway).why, HasSubstr("a: cannot copy yard-node: "));
  ASSERT_TRUE(runtime::WriteFileAtomically(folder_ + "/ssh", ssh, 0700).ok());
  kept.Await(Phase::kConnected);
}

}  // namespace
}  // namespace yard
