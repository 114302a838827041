#include "tools/yard/health/health.h"

#include <errno.h>
#include <sys/stat.h>

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace yard {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kGiB = 1 << 30;

// ---- Directories

DirectoryFacts Directory(mode_t mode = S_IFDIR | 0700) {
  return {.check = "state directory",
          .path = "/s/y",
          .variable = "YARD_STATE",
          .error = 0,
          .mode = mode,
          .owner = 7,
          .user = 7,
          .in_use = false};
}

TEST(CheckDirectoryTest, OneOfOursThatNobodyElseCanEnterIsFine) {
  EXPECT_EQ(CheckDirectory(Directory()).level, Level::kOk);
  EXPECT_EQ(CheckDirectory(Directory()).fix, "");
}

TEST(CheckDirectoryTest, AMissingOneIsBadOnlyUnderARunningYard) {
  auto facts = Directory();
  facts.error = ENOENT;
  EXPECT_EQ(CheckDirectory(facts).level, Level::kOk);
  facts.in_use = true;
  EXPECT_EQ(CheckDirectory(facts).level, Level::kBad);
  EXPECT_EQ(CheckDirectory(facts).fix, "yard down && yard up");
  facts.in_use = false;
  facts.unreachable = {11, 12};
  EXPECT_EQ(CheckDirectory(facts).level, Level::kBad);
  EXPECT_EQ(CheckDirectory(facts).fix, "kill 11 12 && yard up");
  facts.error = 0;
  EXPECT_EQ(CheckDirectory(facts).level, Level::kBad) << "`yard up` has made it again";
}

TEST(CheckDirectoryTest, ServicesOfAnotherOneAreFoundThereNotEnded) {
  auto facts = Directory();
  facts.variable = "XDG_RUNTIME_DIR";
  facts.elsewhere = "/run/user/7/yard";
  for (const int error : {ENOENT, 0}) {
    facts.error = error;
    const Finding finding = CheckDirectory(facts);
    EXPECT_EQ(finding.level, Level::kBad);
    EXPECT_EQ(finding.found,
              "services run with their sockets in /run/user/7/yard, not in /s/y, which is this "
              "shell's");
    EXPECT_EQ(finding.fix, "export XDG_RUNTIME_DIR=/run/user/7");
  }
  facts.elsewhere = "/tmp/it's/yard-7";
  EXPECT_EQ(CheckDirectory(facts).fix,
            "export YARD_REGISTRY='ipc:///tmp/it'\\''s/yard-7/registry'");
  facts.variable = "YARD_REGISTRY";
  facts.elsewhere = "/run/user/7/yard";
  EXPECT_EQ(CheckDirectory(facts).fix, "export YARD_REGISTRY=ipc:///run/user/7/yard/registry");
}

TEST(CheckDirectoryTest, AnOpenOneIsClosedByTheFix) {
  auto facts = Directory(S_IFDIR | 0755);
  facts.path = "/it's here";
  const Finding finding = CheckDirectory(facts);
  EXPECT_EQ(finding.level, Level::kBad);
  EXPECT_EQ(finding.found, "/it's here has mode 0755: it is open to other users");
  EXPECT_EQ(finding.fix, "chmod 700 '/it'\\''s here'");
}

TEST(CheckDirectoryTest, OneThatWeCannotWriteToIsBad) {
  const Finding finding = CheckDirectory(Directory(S_IFDIR | 0500));
  EXPECT_EQ(finding.level, Level::kBad);
  EXPECT_THAT(finding.found, HasSubstr("we cannot use it ourselves"));
  EXPECT_EQ(finding.fix, "chmod 700 /s/y");
}

TEST(CheckDirectoryTest, ALinkAFileAndAStrangersAreNotTrusted) {
  EXPECT_THAT(CheckDirectory(Directory(S_IFLNK | 0777)).found, HasSubstr("symbolic link"));
  EXPECT_EQ(CheckDirectory(Directory(S_IFREG | 0700)).fix, "mv /s/y /s/y.old");
  auto facts = Directory();
  facts.owner = 8;
  EXPECT_EQ(CheckDirectory(facts).found, "/s/y belongs to user 8, not to 7");
  EXPECT_THAT(CheckDirectory(facts).fix, HasSubstr("export YARD_STATE="));
  facts = Directory();
  facts.error = EACCES;
  EXPECT_EQ(CheckDirectory(facts).found, "cannot look at /s/y: Permission denied");
  for (const mode_t mode : {S_IFLNK | 0777, S_IFREG | 0700}) {
    EXPECT_EQ(CheckDirectory(Directory(mode)).level, Level::kBad);
  }
}

// ---- Space

Level Bytes(std::uint64_t free, std::uint64_t total) {
  return CheckSpace({.used_by = {"state"}, .path = "/", .free_bytes = free, .total_bytes = total})
      .front()
      .level;
}

TEST(CheckSpaceTest, WarnsUnderOneGibibyteOrFivePercent) {
  EXPECT_EQ(Bytes(1024 * kMiB, 10 * kGiB), Level::kOk);
  EXPECT_EQ(Bytes(1024 * kMiB - 1, 10 * kGiB), Level::kWarn);
  EXPECT_EQ(Bytes(50 * kGiB, 1000 * kGiB), Level::kOk);
  EXPECT_EQ(Bytes(50 * kGiB - 1, 1000 * kGiB), Level::kWarn);
}

TEST(CheckSpaceTest, IsBadUnderAHundredMebibytes) {
  EXPECT_EQ(Bytes(100 * kMiB, kGiB), Level::kWarn);
  EXPECT_EQ(Bytes(100 * kMiB - 1, kGiB), Level::kBad);
  EXPECT_EQ(Bytes(0, 0), Level::kBad);
}

TEST(CheckSpaceTest, CountsInodesWhereThereIsALimit) {
  SpaceFacts facts = {.used_by = {"state", "runs"},
                      .path = "/",
                      .free_bytes = 90 * kGiB,
                      .total_bytes = 100 * kGiB,
                      .free_inodes = 5000,
                      .total_inodes = 100'000};
  ASSERT_THAT(CheckSpace(facts), SizeIs(2));
  EXPECT_EQ(CheckSpace(facts)[1].level, Level::kOk);
  facts.free_inodes = 4999;
  EXPECT_EQ(CheckSpace(facts)[1].level, Level::kWarn);
  facts.free_inodes = 999;
  EXPECT_EQ(CheckSpace(facts)[1].level, Level::kBad);
  EXPECT_THAT(CheckSpace(facts)[1].found, HasSubstr("state, runs: /"));
  facts.total_inodes = 0;
  EXPECT_THAT(CheckSpace(facts), SizeIs(1));
}

// ---- Other parts of the machine

TEST(CheckFileLimitTest, WarnsUnder4096) {
  EXPECT_EQ(CheckFileLimit(4095).level, Level::kWarn);
  EXPECT_EQ(CheckFileLimit(4096).level, Level::kOk);
  EXPECT_EQ(CheckFileLimit(~std::uint64_t{0}).found, "no limit");
}

TEST(CheckClockTest, ATimeBefore2020IsBad) {
  const absl::Time new_year = absl::FromUnixSeconds(1'577'836'800);
  const absl::Time before = new_year - absl::Seconds(1);
  EXPECT_EQ(CheckClock(new_year, absl::UTCTimeZone()).level, Level::kOk);
  EXPECT_EQ(CheckClock(before, absl::UTCTimeZone()).level, Level::kBad);
  EXPECT_THAT(CheckClock(before, absl::UTCTimeZone()).found, HasSubstr("2019-12-31T23:59:59Z"));
  EXPECT_THAT(CheckClock(before, absl::FixedTimeZone(3600)).found,
              HasSubstr("2020-01-01T00:59:59+01:00"));
}

TEST(CheckLibraryTest, AnotherVersionThanCompiledForIsNoted) {
  EXPECT_EQ(CheckLibrary({"ZeroMQ", "4.3.4", "4.3.4"}).level, Level::kOk);
  const Finding finding = CheckLibrary({"ZeroMQ", "4.3.4", "4.2.5"});
  EXPECT_EQ(finding.level, Level::kWarn);
  EXPECT_EQ(finding.found, "ZeroMQ 4.2.5 is loaded, yard was compiled for 4.3.4");
}

TEST(CheckProgramsTest, NamesWhatIsMissing) {
  EXPECT_EQ(CheckPrograms({}).level, Level::kOk);
  EXPECT_THAT(CheckPrograms({"trainer", "yard-shim"}).found, HasSubstr("trainer, yard-shim"));
}

// ---- Leftovers

TEST(CheckLeftoversTest, WhatACleanStopLeavesIsHarmless) {
  EXPECT_EQ(CheckLeftovers({})[0].found, "none");
  const Findings findings = CheckLeftovers({.locks = {"/r/a.lock"}, .sockets = {"/r/a", "/r/b"}});
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].level, Level::kOk);
  EXPECT_THAT(findings[0].found, StartsWith("1 lock file and 2 sockets of services that have"));
}

TEST(CheckLeftoversTest, ReadyFilesAreReplacedAndTaskSocketsRemovedByTheFix) {
  const Findings findings =
      CheckLeftovers({.ready_files = {"/r/a.ready"}, .task_sockets = {"/r/a", "/r/b c"}});
  ASSERT_THAT(findings, SizeIs(2));
  EXPECT_EQ(findings[0].level, Level::kWarn);
  EXPECT_EQ(findings[0].fix, "yard up, or whatever supervises those services, replaces them");
  EXPECT_EQ(findings[1].level, Level::kWarn);
  EXPECT_EQ(findings[1].found, "2 sockets of tasks whose shim was killed: /r/a, /r/b c");
  EXPECT_EQ(findings[1].fix, "rm /r/a '/r/b c'");
}

TEST(CheckLeftoversTest, ManySocketsMakeNoLongLine) {
  const Findings findings = CheckLeftovers(
      {.task_sockets = std::vector<std::string>(10'000, "/run/some/socket"), .more_sockets = true});
  EXPECT_LT(findings[0].found.size(), 300U);
  EXPECT_LT(findings[0].fix.size(), 300U);
  EXPECT_THAT(findings[0].found, HasSubstr("10000 sockets or more"));
}

// ---- The yard

ServiceFacts Service(const std::string& name, pid_t holder = 100) {
  ServiceFacts facts;
  facts.name = name;
  facts.lock_path = "/r/" + name + ".lock";
  facts.output_path = "/s/log/" + name + ".out";
  facts.holder = holder;
  if (holder == 0) return facts;
  facts.lease = {.registered_us = 1'700'000'000'000'000};
  facts.stats = {.status = absl::OkStatus(), .version = "0.1", .counters = {}};
  return facts;
}

class CheckYardTest : public ::testing::Test {
 protected:
  CheckYardTest() {
    facts_.wanted = true;
    facts_.logdir = "/runs";
    facts_.version = "0.1";
    facts_.now = absl::FromUnixSeconds(1'700'000'100);
    facts_.services = {Service("registry"), Service("launcher"), Service("trainer")};
  }
  ServiceFacts& trainer() { return facts_.services[2]; }
  // Returns the only finding that is not ok.
  Finding TheOne() {
    Findings wrong;
    for (Finding& finding : CheckYard(facts_)) {
      if (finding.level != Level::kOk) wrong.push_back(finding);
    }
    EXPECT_THAT(wrong, SizeIs(1));
    return wrong.empty() ? Finding() : wrong[0];
  }

  DoctorFacts facts_;
};

TEST_F(CheckYardTest, OneThatIsUpIsFine) {
  const Findings findings = CheckYard(facts_);
  ASSERT_THAT(findings, SizeIs(4));
  for (const Finding& finding : findings) EXPECT_EQ(finding.level, Level::kOk) << finding.found;
  EXPECT_EQ(findings[0].found, "up, runs in /runs");
  EXPECT_EQ(findings[3].found, "answers, process 100, version 0.1");
}

TEST_F(CheckYardTest, NoYardIsFineAndTheFixStartsOne) {
  facts_.wanted = false;
  for (auto& service : facts_.services) service = Service(service.name, 0);
  const Findings findings = CheckYard(facts_);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].level, Level::kOk);
  EXPECT_EQ(findings[0].found, "not up");
  EXPECT_EQ(findings[0].fix, "yard up");
}

TEST_F(CheckYardTest, AWantedYardWithoutALauncherIsBad) {
  facts_.services[1] = Service("launcher", 0);
  const Findings findings = CheckYard(facts_);
  EXPECT_EQ(findings[0].level, Level::kBad);
  EXPECT_EQ(findings[0].fix, "yard up");
}

TEST_F(CheckYardTest, ALauncherThatCannotReadItsDatabaseIsMendedAtOnce) {
  facts_.services[1] = Service("launcher", 0);
  facts_.services[1].damage = "/s/launcher.db: file is not a database";
  facts_.services[1].next_step = "mv /s/launcher.db* /s/aside && yard up";
  const Findings findings = CheckYard(facts_);
  EXPECT_EQ(findings[0].fix, facts_.services[1].next_step);
  EXPECT_EQ(findings[2].found,
            "does not run and cannot start: /s/launcher.db: file is not a database");
  EXPECT_EQ(findings[2].fix, facts_.services[1].next_step);
}

TEST_F(CheckYardTest, AWantedFileThatCannotBeReadIsBad) {
  facts_.wanted_status = absl::DataLossError("/s/wanted cannot be read");
  EXPECT_THAT(TheOne().found, HasSubstr("/s/wanted cannot be read"));
}

TEST_F(CheckYardTest, AServiceThatIsNotThereIsBadIfTheYardIsWanted) {
  trainer() = Service("trainer", 0);
  EXPECT_EQ(TheOne().level, Level::kBad);
  EXPECT_EQ(TheOne().fix, "look for the reason: tail /s/log/trainer.out");
  trainer().why_not = "exit code 3";
  EXPECT_EQ(TheOne().found, "does not stay up: exit code 3");
  trainer().last_line = "trainer: /s/trainer.db is of a newer version";
  EXPECT_EQ(TheOne().found,
            "does not stay up: exit code 3; it said: trainer: /s/trainer.db is of a newer version");
  facts_.wanted = false;
  EXPECT_EQ(TheOne().level, Level::kWarn);
}

TEST_F(CheckYardTest, AServiceThatServesWithoutItsLockIsBad) {
  trainer() = Service("trainer", 0);
  trainer().listener = 55;
  EXPECT_EQ(TheOne().level, Level::kBad);
  EXPECT_THAT(TheOne().found, HasSubstr("process 55 serves, but nobody holds /r/trainer.lock"));
  EXPECT_EQ(TheOne().fix, "kill -9 55 && yard up");
}

TEST_F(CheckYardTest, ASuspendedServiceIsContinued) {
  trainer().suspended = true;
  trainer().stats->status = absl::DeadlineExceededError("late");
  EXPECT_EQ(TheOne().fix, "kill -CONT 100");
}

TEST_F(CheckYardTest, OneThatIsNotRegisteredIsBad) {
  trainer().lease.reset();
  trainer().stats.reset();
  EXPECT_EQ(TheOne().level, Level::kBad);
  EXPECT_EQ(TheOne().found, "process 100 runs but is not registered");
}

TEST_F(CheckYardTest, OneThatIsRegisteredAndDoesNotAnswerIsBad) {
  trainer().stats->status = absl::DeadlineExceededError("late");
  EXPECT_EQ(TheOne().level, Level::kBad);
  EXPECT_EQ(TheOne().found, "process 100 is registered but does not answer: late");
  EXPECT_EQ(TheOne().fix, "kill -9 100 && yard up");
  trainer().lease->external = true;
  EXPECT_EQ(TheOne().fix, "restart trainer with what supervises it");
}

TEST_F(CheckYardTest, OneWhoseProgramWasReplacedIsRestarted) {
  trainer().outdated = true;
  EXPECT_EQ(TheOne().level, Level::kWarn);
  EXPECT_EQ(TheOne().found, "process 100 runs another program than is installed now");
  EXPECT_EQ(TheOne().fix, "yard up --upgrade");
  trainer().lease->external = true;
  EXPECT_EQ(TheOne().fix, "restart trainer with what supervises it");
}

// In this namespace, its pid belongs to another process or to none.
TEST_F(CheckYardTest, OneOfAnotherPidNamespaceIsNotKilledByItsNumber) {
  trainer().stats->status = absl::DeadlineExceededError("late");
  trainer().lease->elsewhere = true;
  EXPECT_THAT(TheOne().fix, HasSubstr("restart trainer where it runs"));
  EXPECT_THAT(TheOne().fix, Not(HasSubstr("kill")));
}

TEST_F(CheckYardTest, WithoutTheRegistryOnlyTheRegistryIsBad) {
  facts_.registry = absl::DeadlineExceededError("late");
  for (auto& service : facts_.services) service.lease.reset(), service.stats.reset();
  const Findings findings = CheckYard(facts_);
  ASSERT_THAT(findings, SizeIs(4));
  EXPECT_EQ(findings[1].level, Level::kBad);
  EXPECT_EQ(findings[1].check, "registry");
  EXPECT_EQ(findings[2].level, Level::kWarn);
  EXPECT_EQ(findings[3].level, Level::kWarn);
}

TEST_F(CheckYardTest, AnotherVersionIsNotedAndJobsGoOnOverTheFix) {
  trainer().stats->version = "0.2";
  EXPECT_EQ(TheOne().level, Level::kWarn);
  EXPECT_EQ(TheOne().found, "is version 0.2, this yard is 0.1");
  EXPECT_EQ(TheOne().fix, "yard up --upgrade");
}

TEST_F(CheckYardTest, DroppedMessagesOfTheBusAreNoted) {
  trainer().stats->counters = {{"bus.messages_sent", 9},
                               {"bus.events_dropped", 0},
                               {"bus.replies_dropped", 4},
                               {"lines_dropped", 5}};
  EXPECT_EQ(TheOne().level, Level::kWarn);
  EXPECT_THAT(TheOne().found, HasSubstr("bus.replies_dropped is 4"));
}

TEST_F(CheckYardTest, ARegistrationInTheFutureIsNoted) {
  trainer().lease->registered_us = absl::ToUnixMicros(facts_.now + absl::Seconds(5));
  for (const Finding& finding : CheckYard(facts_)) EXPECT_EQ(finding.level, Level::kOk);
  trainer().lease->registered_us = absl::ToUnixMicros(facts_.now + absl::Hours(2));
  EXPECT_EQ(TheOne().check, "clock");
  EXPECT_EQ(TheOne().level, Level::kWarn);
}

// ---- Kill modes

TEST(CheckKillModesTest, TheOneThatTasksGetIsMarkedAndOthersSayWhyNot) {
  const Findings findings = CheckKillModes({{"cgroup2", false, "no place for groups"},
                                            {"freezer", true, "in /f"},
                                            {"subreaper", true, "everywhere"},
                                            {"group", false, "only where needed"}},
                                           "freezer");
  ASSERT_THAT(findings, SizeIs(4));
  EXPECT_EQ(findings[0].found, "cgroup2 is not offered: no place for groups");
  EXPECT_EQ(findings[1].found, "freezer (what tasks get): in /f");
  EXPECT_EQ(findings[2].found, "subreaper: everywhere");
  for (const Finding& finding : findings) {
    EXPECT_EQ(finding.level, Level::kOk);
    EXPECT_EQ(finding.check, "kill mode");
    EXPECT_EQ(finding.fix, "");
  }
}

TEST(CheckKillModesTest, WarnsWhereTheProcessGroupIsAllThereIs) {
  const Findings findings =
      CheckKillModes({{"subreaper", false, "no /proc"}, {"group", true, "misses some"}}, "group");
  ASSERT_THAT(findings, SizeIs(2));
  EXPECT_EQ(findings[0].level, Level::kOk);
  EXPECT_EQ(findings[1].level, Level::kWarn);
  EXPECT_EQ(findings[1].found, "group is all there is: misses some");
  EXPECT_NE(findings[1].fix, "");
}

TEST(CheckKillModesTest, NoModeAtAllIsBadAndWithoutALauncherNothingIsSaid) {
  EXPECT_TRUE(AnyBad(CheckKillModes({{"group", false, "no"}}, "")));
  EXPECT_THAT(CheckKillModes({}, ""), SizeIs(0));
}

}  // namespace
}  // namespace yard
