// Tests that everything that a task has started is killed, in each mode that this machine offers.
// Runs outside of the sandbox, which offers fewer modes.
#include "launcher/process/kill_modes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "launcher/fixtures/shim_fixture.h"
#include "launcher/process/cgroup.h"
#include "launcher/process/process_table.h"
#include "launcher/run/kill_mode_report.h"
#include "launcher/shim/task_tree.h"
#include "launcher/wire/shim_protocol.h"
#include "runtime/file/file.h"

namespace launcher {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// A thousand processes that ignore SIGTERM. Half have sessions of their own, a quarter are forked
// twice, and a quarter have neither the task's environment nor any of its files.
constexpr char kHostileTree[] = R"(
import os, signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
done, tell = os.pipe()
def stay(i):
  os.write(tell, b'x')
  if i % 8 == 1:
    os.closerange(0, 256)
    os.execve('/bin/sleep', ['sleep', '1000'], {})
  while True: signal.pause()
for i in range(999):
  if os.fork() == 0:
    if i % 2: os.setsid()
    if i % 8 == 3 and os.fork(): os._exit(0)
    stay(i)
left = 999
while left > 0: left -= len(os.read(done, 4096))
print('ready', flush=True)
while True: signal.pause()
)";

const std::vector<KillModeOffer>& Offers() {
  static const auto* const offers = new std::vector<KillModeOffer>(ProbeKillModes());
  return *offers;
}

const KillModeOffer& OfferOf(KillMode mode) {
  return *std::find_if(Offers().begin(), Offers().end(),
                       [&](const auto& offer) { return offer.mode == mode; });
}

TEST(KillModesTest, EachModeIsOfferedOrItSaysWhyNot) {
  ASSERT_EQ(Offers().size(), kKillModes.size());
  for (std::size_t i = 0; i < kKillModes.size(); ++i) {
    EXPECT_EQ(Offers()[i].mode, kKillModes[i]);
    EXPECT_FALSE(Offers()[i].detail.empty()) << KillModeName(kKillModes[i]);
    GTEST_LOG_(INFO) << KillModeName(Offers()[i].mode) << ": "
                     << (Offers()[i].offered ? "offered, " : "not offered, ") << Offers()[i].detail;
  }
  const bool walk = OfferOf(KillMode::kSubreaper).offered;
  EXPECT_NE(walk, OfferOf(KillMode::kGroup).offered);
}

// Checks the probe by independent means: otherwise no test would notice a mode that it fails to
// offer.
TEST(KillModesTest, WhatCanBeHadIsOffered) {
  constexpr char kMakeGroup[] =
      "[ -n \"$mount\" ] && [ -n \"$own\" ] || exit 1; group=$mount$own/yard-by-hand-$$;"
      "mkdir \"$group\" || exit 1; [ -w \"$group/$file\" ]; got=$?; rmdir \"$group\"; exit $got";
  const std::pair<KillMode, std::string> kByHand[] = {
    {KillMode::kCgroup2,
     absl::StrCat("mount=$(awk '$3 == \"cgroup2\" {print $2; exit}' /proc/self/mounts);"
                  "own=$(sed -n 's/^0:://p' /proc/self/cgroup); file=cgroup.kill;",
                  kMakeGroup)},
    {KillMode::kFreezer,
     absl::StrCat("mount=$(awk '$3 == \"cgroup\" && $4 ~ /(^|,)freezer(,|$)/ {print $2; exit}' "
                  "/proc/self/mounts); own=$(awk -F: '$2 ~ /(^|,)freezer(,|$)/ {print $3}' "
                  "/proc/self/cgroup); file=freezer.state;",
                  kMakeGroup)},
#if !defined(__SANITIZE_THREAD__)  // (The thread sanitizer does not support this mode.)
    {KillMode::kNamespace, "unshare --pid --fork true || unshare -r --pid --fork true"},
#endif
    {KillMode::kSubreaper, "[ -r /proc/$$/stat ]"},
  };
  for (const auto& [mode, script] : kByHand) {
    if (system(absl::StrCat("{ ", script, "; } 2>/dev/null").c_str()) != 0) continue;
    EXPECT_TRUE(OfferOf(mode).offered) << KillModeName(mode) << ": " << OfferOf(mode).detail;
  }
}

TEST(KillModesTest, ATrialLeavesNothingBehind) {
  for (const KillMode mode : {KillMode::kCgroup2, KillMode::kFreezer}) {
    std::string why;
    const std::string own =
        mode == KillMode::kCgroup2 ? OwnCgroup(&why) : OwnCgroupOf("freezer", &why);
    if (own.empty()) continue;
    (void)OfferOf(mode);  // Makes sure that the mode was probed.
    EXPECT_FALSE(std::filesystem::exists(absl::StrCat(own, "/yard-probe-", getpid())));
  }
  EXPECT_THAT(Descendants(ReadProcesses(), getpid()), IsEmpty());
}

TEST(KillModesTest, ALookAtTheHostLeavesNothingBehind) {
  if (!OfferOf(KillMode::kCgroup2).offered) return;  // A mode that is not offered cannot be tried.
  std::string why;
  const std::string own = OwnCgroup(&why);
  EXPECT_EQ(LookAtHost().cgroup2, own);
  for (const auto& entry : std::filesystem::directory_iterator(own)) {
    EXPECT_FALSE(absl::StartsWith(entry.path().filename().string(),
                                  absl::StrCat("yard-look-", getpid(), "-")));
  }
}

TEST(KillModesTest, WhatTheHostHadMayBeGone) {
  if (!OfferOf(KillMode::kCgroup2).offered) return;  // A mode that is not offered cannot be tried.
  std::string why;
  const TreeHost host{.boot = BootId(), .cgroup2 = "/sys/fs/cgroup/nowhere/at-all"};
  const auto tree = TaskTree::Make(KillMode::kCgroup2, host, absl::StrCat("test-", getpid()), &why);
  ASSERT_NE(tree, nullptr) << why;
  ASSERT_EQ(tree->cgroups().size(), 1u);
  EXPECT_TRUE(std::filesystem::exists(tree->cgroups()[0] + "/cgroup.kill"));
  EXPECT_TRUE(tree->Remove());
  EXPECT_TRUE(tree->Remove());
}

TEST(KillModesTest, HasANameForEach) {
  for (const KillMode mode : kKillModes) EXPECT_EQ(KillModeNamed(KillModeName(mode)), mode);
  EXPECT_EQ(KillModeNamed("other"), std::nullopt);
  EXPECT_THAT(KillModesFor("other"), IsEmpty());
}

TEST(KillModesTest, WithoutAWishATaskSeesNothingOfIt) {
  for (const char* wish : {"", "auto"}) {
    const auto modes = KillModesFor(wish);
    EXPECT_EQ(std::count(modes.begin(), modes.end(), KillMode::kNamespace), 0);
    EXPECT_EQ(modes.front(), KillMode::kCgroup2);
    EXPECT_EQ(modes.back(), KillMode::kGroup);
  }
}

class KillModeTest : public ShimFixture, public ::testing::WithParamInterface<KillMode> {
 protected:
  KillModeTest() { spec_.kill_mode = KillModeName(GetParam()); }
  std::vector<pid_t> Tree() const { return Descendants(ReadProcesses(), shim_->pid()); }
  void ExpectNoCgroups() const {
    for (const auto& path : Orphans().cgroups) EXPECT_FALSE(std::filesystem::exists(path)) << path;
  }
};

TEST_P(KillModeTest, AHostileTreeOfAThousandLeavesNoSurvivor) {
  Start({"python3", "-c", kHostileTree});
  AwaitOutput("ready");
  const auto tree = Tree();
  EXPECT_GE(tree.size(), 1000u);
  EXPECT_THAT(LiveDescendants(shim_->pid()), ::testing::UnorderedElementsAreArray(tree));
  Send(control_, {.kind = ShimRequest::Kind::kStop, .signal = SIGTERM, .grace_ms = 50});
  const absl::Time start = absl::Now();
  const ShimState state = AwaitPhase(ShimPhase::kExited);
  GTEST_LOG_(INFO) << state.kill_mode << ": " << absl::Now() - start << " with the grace of 50 ms";
  EXPECT_EQ(state.kill_mode, spec_.kill_mode);
  EXPECT_EQ(state.signal, SIGKILL);
  EXPECT_EQ(state.note, "");
  ExpectGone(tree);
  Acknowledge();
  ExpectNoCgroups();
}

TEST_P(KillModeTest, AKillOfTheShimLeavesNobodyEither) {
  StartShell(
      "setsid sleep 1000 &\n"
      "env -i setsid -f sleep 1001 2>/dev/null 3>&-\n"
      "echo ready; read r <&3");
  AwaitOutput("ready");
  Send(control_, {.kind = ShimRequest::Kind::kState});
  const auto state = Receive(control_);
  ASSERT_TRUE(state.has_value());
  const auto tree = Tree();
  EXPECT_GE(tree.size(), 3u);
  ASSERT_TRUE(shim_->Signal(SIGKILL).ok());
  ASSERT_TRUE(shim_->Wait(kDeadline).ok());
  const auto orphans = Orphans(state->pid, state->start_ticks);
  const absl::Time deadline = absl::Now() + kDeadline;
  while (KillOrphanedTree(orphans) > 0) ASSERT_LT(absl::Now(), deadline);
  ExpectGone(tree);
}

TEST_P(KillModeTest, TheEndIsToldAsEver) {
  StartShell("echo out; (setsid sleep 1000 >/dev/null 2>&1 &) ; exit 7");
  const ShimState state = Finish();
  EXPECT_EQ(state.exit_code, 7);
  EXPECT_EQ(state.kill_mode, spec_.kill_mode);
  EXPECT_EQ(Output(), "out\n");
  ExpectNoCgroups();
}

// A killed control group may still kill processes that enter it later.
TEST_P(KillModeTest, EachAttemptHasControlGroupsOfItsOwn) {
  std::set<std::string> groups;
  for (const char* attempt : {"first", "second"}) {
    StartShell(
        absl::StrCat("trap 'exit 7' TERM; echo ", attempt, "; while :; do sleep 0.01; done"));
    AwaitOutput(attempt);
    for (const auto& path : Orphans().cgroups) {
      EXPECT_TRUE(std::filesystem::exists(path)) << path;
      EXPECT_TRUE(groups.insert(path).second) << path;
    }
    if (attempt == std::string_view("first")) {
      Send(control_, {.kind = ShimRequest::Kind::kKill});
      EXPECT_EQ(Finish().signal, SIGKILL);
      ASSERT_TRUE(std::filesystem::remove(folder_ + "/started"));
    } else {
      Send(control_, {.kind = ShimRequest::Kind::kStop, .signal = SIGTERM, .grace_ms = 15000});
      EXPECT_EQ(Finish().exit_code, 7);
    }
  }
  const bool by_group = GetParam() == KillMode::kCgroup2 || GetParam() == KillMode::kFreezer;
  EXPECT_GE(groups.size(), by_group ? 2u : 0u);
}

TEST_P(KillModeTest, WhoRunsAwayByForkingIsCaught) {
  // Each of ten processes constantly forks a successor in a new session and ends.
  Start({"python3", "-c",
         "import os,time\n"
         "for i in range(10):\n"
         "  if os.fork() == 0:\n"
         "    os.setsid()\n"
         "    while True:\n"
         "      if os.fork(): os._exit(0)\n"
         "print('ready', flush=True)\n"
         "time.sleep(1000)\n"});
  AwaitOutput("ready");
  Send(control_, {.kind = ShimRequest::Kind::kKill});
  const ShimState state = AwaitPhase(ShimPhase::kExited);
  EXPECT_EQ(state.signal, SIGKILL);
  EXPECT_EQ(state.note, "");
  EXPECT_THAT(Tree(), IsEmpty());
  Acknowledge();
  ExpectNoCgroups();
}

TEST_P(KillModeTest, WhoHasLostItsFirstThreadIsKilledToo) {
  Start({"python3", "-c",
         "import ctypes,os,threading,time\n"
         "if os.fork() == 0:\n"
         "  os.setsid()\n"
         "  def stay():\n"
         "    while open('/proc/self/stat').read().rsplit(')')[1].split()[0] != 'Z': pass\n"
         "    print('ready', flush=True); time.sleep(1000)\n"
         "  threading.Thread(target=stay).start()\n"
         "  ctypes.CDLL(None).syscall(60 if os.uname().machine == 'x86_64' else 93, 0)\n"
         "time.sleep(1000)\n"});
  AwaitOutput("ready");
  const auto tree = Tree();
  EXPECT_GE(tree.size(), 2u);
  Send(control_, {.kind = ShimRequest::Kind::kKill});
  EXPECT_EQ(Finish().note, "");
  ExpectGone(tree);
}

TEST_P(KillModeTest, AProgramThatIsMissingLeavesNothing) {
  Start({"no-such-program"});
  EXPECT_EQ(Finish().failure, "program not found: no-such-program");
  ExpectNoCgroups();
}

TEST_P(KillModeTest, StopWaitsForTheGraceOfThoseWhoAreLeft) {
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

// The modes that this machine offers; the suite runs for each of them.
std::vector<KillMode> Offered(const std::vector<KillMode>& modes) {
  std::vector<KillMode> offered;
  for (const KillMode mode : modes) {
    const KillModeOffer& offer = OfferOf(mode);
    if (offer.offered) offered.push_back(mode);
    if (!offer.offered) printf("%s: %s\n", KillModeName(mode).data(), offer.detail.c_str());
  }
  return offered;
}

INSTANTIATE_TEST_SUITE_P(EachMode, KillModeTest,
                         ::testing::ValuesIn(Offered({kKillModes.begin(), kKillModes.end()})),
                         [](const auto& test) { return std::string(KillModeName(test.param)); });

TEST(KillModesTest, EachOfferedModeIsTried) {
  std::set<std::string> tried;
  const auto& all = *::testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const auto& suite = *all.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); ++j) tried.insert(suite.GetTestInfo(j)->name());
  }
  for (const KillModeOffer& offer : Offers()) {
    const std::string test =
        "AHostileTreeOfAThousandLeavesNoSurvivor/" + std::string(KillModeName(offer.mode));
    EXPECT_EQ(tried.contains(test), offer.offered) << test;
  }
}

// With these modes no process escapes, whatever it does.
class StrongKillModeTest : public KillModeTest {};
// (A container may offer none of these modes.)
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StrongKillModeTest);

TEST_P(StrongKillModeTest, WhoHidesEverythingDoesNotEscapeAKillOfTheShim) {
  StartShell("env -i setsid -f sleep 1000 >/dev/null 2>&1 3>&-\necho ready; read r <&3");
  AwaitOutput("ready");
  const auto tree = Tree();
  EXPECT_GE(tree.size(), 2u);
  ASSERT_TRUE(shim_->Signal(SIGKILL).ok());
  ASSERT_TRUE(shim_->Wait(kDeadline).ok());
  const auto orphans = Orphans();
  const absl::Time deadline = absl::Now() + kDeadline;
  while (KillOrphanedTree(orphans) > 0) ASSERT_LT(absl::Now(), deadline);
  ExpectGone(tree);
  bool removed = false;
  while (!removed && absl::Now() < deadline) {
    removed = std::all_of(orphans.cgroups.begin(), orphans.cgroups.end(), RemoveCgroup);
  }
  EXPECT_TRUE(removed);
}

INSTANTIATE_TEST_SUITE_P(EachMode, StrongKillModeTest,
                         ::testing::ValuesIn(Offered({KillMode::kCgroup2, KillMode::kFreezer,
                                                      KillMode::kNamespace})),
                         [](const auto& test) { return std::string(KillModeName(test.param)); });

class KillModeChoiceTest : public ShimFixture {};

TEST_F(KillModeChoiceTest, TheBestThatTheTaskDoesNotSeeIsTaken) {
  StartShell("true");
  EXPECT_EQ(Finish().kill_mode, KillModeReport(Offers).Get().chosen);
}

TEST_F(KillModeChoiceTest, AModeThatDoesNotExistIsAFailure) {
  spec_.kill_mode = "magic";
  StartShell("true");
  EXPECT_THAT(Finish().failure, HasSubstr("there is no kill mode magic"));
}

TEST_F(KillModeChoiceTest, InANamespaceATaskKeepsItsUserAndIsNotTheFirstProcess) {
  const auto& offer = OfferOf(KillMode::kNamespace);
  if (!offer.offered) return;  // A mode that is not offered cannot be tried.
  spec_.kill_mode = "namespace";
  StartShell("echo $$; id -u; kill -TERM $$");
  EXPECT_EQ(Finish().signal, SIGTERM);  // (The first process of a namespace would not get it.)
  EXPECT_EQ(Output(), absl::StrCat("2\n", geteuid(), "\n"));
}

// (Tested even where better modes are offered.)
TEST_F(KillModeChoiceTest, InAGroupThoseAreKilledWhoAreLeftWhenTheFirstHasEnded) {
  spec_.kill_mode = "group";
  StartShell("trap '' TERM; sleep 1000 >/dev/null 2>&1 & exit 7");
  const ShimState state = Finish();
  EXPECT_EQ(state.kill_mode, "group");
  EXPECT_EQ(state.exit_code, 7);
  EXPECT_EQ(state.note, "");
}

// A controller of limits, and the file of its limit in a group of version 2 and of version 1.
struct Controller {
  const char* name;
  const char* file2;
  const char* file1;
};
constexpr Controller kMemory{"memory", "memory.max", "memory.limit_in_bytes"};
constexpr Controller kCpu{"cpu", "cpu.max", "cpu.cfs_quota_us"};
constexpr Controller kPids{"pids", "pids.max", "pids.max"};

bool HasFileBelow(const std::string& own, const char* file) {
  std::string why;
  const std::string name = absl::StrCat(std::string(kCgroupPrefix), "test-", getpid());
  const std::string path = own.empty() ? "" : MakeCgroup(own, name, &why);
  if (path.empty()) return false;
  const bool has_it = access(absl::StrCat(path, "/", file).c_str(), W_OK) == 0;
  EXPECT_TRUE(RemoveCgroup(path)) << path;
  return has_it;
}

// Returns whether a group of ours supports this limit: an unsupported limit cannot be tested, but a
// supported one must be used.
bool IsOffered(const Controller& controller) {
  std::string why;
  const std::string own2 = OfferOf(KillMode::kCgroup2).offered ? OwnCgroup(&why) : "";
  if (!own2.empty()) {
    WriteCgroupFile(own2, "cgroup.subtree_control", absl::StrCat("+", controller.name), &why);
  }
  if (HasFileBelow(own2, controller.file2)) return true;
  if (HasFileBelow(OwnCgroupOf(controller.name, &why), controller.file1)) return true;
  GTEST_LOG_(INFO) << "no group of ours can limit " << controller.name << " here";
  return false;
}

// Limits of all processes of a task together.
class ControlLimitTest : public ShimFixture {};

TEST_F(ControlLimitTest, WhoTakesTooMuchMemoryIsKilledAndThatIsTold) {
  if (!IsOffered(kMemory)) return;
  spec_.control_limits.memory_bytes = 64 << 20;
  Start({"python3", "-c", "x = bytearray(400 << 20); print('survived')"});
  const ShimState state = Finish();
  EXPECT_TRUE(state.out_of_memory);
  EXPECT_EQ(state.signal, SIGKILL);
  EXPECT_EQ(state.note, "a process of it was killed because memory was short");
  for (const auto& path : Orphans().cgroups) EXPECT_FALSE(std::filesystem::exists(path)) << path;
}

TEST_F(ControlLimitTest, WhoKeepsToItIsLeftAlone) {
  spec_.control_limits = {.memory_bytes = 1 << 30, .milli_cpus = 500, .processes = 100};
  StartShell("read r <&3");
  const ShimState running = AwaitPhase(ShimPhase::kRunning);
  // Finds the limit in one of the task's groups.
  const auto limit = [&](const Controller& controller) {
    std::string found;
    for (const auto& path : Orphans().cgroups) {
      for (const char* file : {controller.file2, controller.file1}) {
        const std::string text = runtime::ReadFile(absl::StrCat(path, "/", file), 100).value_or("");
        if (!text.empty() && found.empty()) found = text.substr(0, text.find_first_of(" \n"));
      }
    }
    return found;
  };
  const struct {
    Controller controller;
    std::string limit, missing;
  } kLimits[] = {{kMemory, "1073741824", "its memory could not be limited"},
                 {kCpu, "50000", "its processor time could not be limited"},
                 {kPids, "100", "its number of processes could not be limited"}};
  for (const auto& expected : kLimits) {
    if (IsOffered(expected.controller)) {
      EXPECT_EQ(limit(expected.controller), expected.limit) << expected.controller.name;
      EXPECT_THAT(running.note, Not(HasSubstr(expected.missing)));
    } else {
      EXPECT_THAT(running.note, HasSubstr(expected.missing));
    }
  }
  Send(control_, {.kind = ShimRequest::Kind::kKill});
  EXPECT_FALSE(Finish().out_of_memory);
}

TEST_F(ControlLimitTest, MoreProcessesThanAllowedAreRefused) {
  if (!IsOffered(kPids)) return;
  spec_.control_limits.processes = 5;
  Start({"python3", "-c",
         "import os,time\n"
         "n = 0\n"
         "try:\n"
         "  while n < 20:\n"
         "    if os.fork() == 0: time.sleep(1000)\n"
         "    n += 1\n"
         "except OSError: pass\n"
         "print(n)\n"});
  Finish();
  EXPECT_EQ(Output(), "4\n");
}

}  // namespace
}  // namespace launcher
