#include "tools/yard/health/machine_health.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace yard {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kGiB = 1 << 30;

struct Case {
  Finding finding;
  Level level;
  std::string found;  // Substring.
  std::string fix;
};

TEST(MachineHealthTest, FactsLeadToFindings) {
  const std::string short_path = "/run/user/1000/yard";
  const std::vector<Case> cases = {
      {CheckWatches({.watches = 8192, .instances = 16}), Level::kOk, "8192 directories", ""},
      {CheckWatches({.watches = 8191, .instances = 128}), Level::kWarn, "are polled",
       "sysctl fs.inotify.max_user_watches=524288"},
      {CheckWatches({.watches = 65536, .instances = 15}), Level::kWarn, "15 instances",
       "max_user_instances=512"},
      {CheckWatches({}), Level::kWarn, "does not tell", "mount /proc"},

      {CheckMemory({.total = 8 * kGiB, .available = 256 * kMiB})[0], Level::kOk, "of 8.6 GB", ""},
      {CheckMemory({.total = 8 * kGiB, .available = 256 * kMiB - 1})[0], Level::kWarn, "available",
       "--memory"},
      {CheckMemory({.total = 8 * kGiB, .available = 64 * kMiB - 1})[0], Level::kBad, "available",
       "ps -eo"},
      {CheckMemory({})[0], Level::kWarn, "does not tell", "mount /proc"},
      {CheckMemory({.total = kGiB, .available = kGiB})[1], Level::kOk, "none", ""},
      {CheckMemory(
           {.total = kGiB, .available = kGiB, .swap_total = kGiB, .swap_free = kGiB / 5})[1],
       Level::kOk, "used of 1.1 GB", ""},
      {CheckMemory(
           {.total = kGiB, .available = kGiB, .swap_total = kGiB, .swap_free = kGiB / 11})[1],
       Level::kWarn, "used of 1.1 GB", "--slots"},
      {CheckMemory({.total = 10 * kGiB,
                    .available = kGiB - 1,
                    .swap_total = kGiB,
                    .swap_free = kGiB / 3})[1],
       Level::kWarn, "used of", "--slots"},

      {CheckProcessLimit(1024), Level::kOk, "1024", ""},
      {CheckProcessLimit(1023), Level::kWarn, "1023", "nproc"},
      {CheckProcessLimit(~std::uint64_t{0}), Level::kOk, "no limit", ""},

      {CheckSocketPaths(short_path), Level::kOk, "bytes", ""},
      {CheckSocketPaths(std::string(72, 'x')), Level::kOk, "at most 107 bytes", ""},
      {CheckSocketPaths(std::string(73, 'x')), Level::kBad, "is 1 bytes too long",
       "export XDG_RUNTIME_DIR="},

      {CheckLogs({.path = "/s/log", .bytes = kGiB, .files = 9}), Level::kOk, "in 9 files: /s/log",
       ""},
      {CheckLogs({.path = "/s/my log", .bytes = kGiB + 1, .files = 9}), Level::kWarn, "in 9 files",
       "du -ah '/s/my log'"},

      {CheckTrials({.running = 2}), Level::kOk, "2 running, none waits", ""},
      {CheckTrials({.running = 1, .waiting = 3, .first = "t-abcde", .reason = "waits for a slot"}),
       Level::kOk, "1 running, 3 waiting, such as t-abcde: waits for a slot", ""},
      {CheckTrials({.running = 0, .waiting = 1, .first = "t-abcde", .reason = "waits for gpu"}),
       Level::kWarn, "0 running, 1 waiting, such as t-abcde: waits for gpu", "yard ps"},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(one.finding.level, one.level) << one.finding.found;
    EXPECT_THAT(one.finding.found, HasSubstr(one.found));
    EXPECT_THAT(one.finding.fix, HasSubstr(one.fix));
    EXPECT_EQ(one.finding.level == Level::kOk, one.finding.fix.empty()) << one.finding.found;
  }
}

TEST(MachineHealthTest, ShimsThatNobodyCanReachAreNamed) {
  EXPECT_TRUE(CheckUnreachableShims({}).empty());
  const Findings findings = CheckUnreachableShims({{"j-abcde.worker-0.1", 77}});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].level, Level::kWarn);
  EXPECT_THAT(findings[0].found, HasSubstr("process 77 runs j-abcde.worker-0.1"));
  EXPECT_THAT(findings[0].fix, HasSubstr("kill -9 77"));
}

TEST(MachineHealthTest, StrayShimsAreNamedWithTheWayToEndThem) {
  EXPECT_TRUE(CheckStrayShims({}).empty());
  const Findings findings = CheckStrayShims({{.task = "j-abcde.worker-0.1", .pid = 77}});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].level, Level::kWarn);
  EXPECT_EQ(findings[0].found,
            "process 77 runs j-abcde.worker-0.1, of which the launcher knows nothing");
  EXPECT_THAT(findings[0].fix, HasSubstr("kill -9 77"));
}

TEST(MachineHealthTest, ReadsWhatTheKernelSays) {
  const std::map<std::string, std::string> files = {
      {"/proc/sys/fs/inotify/max_user_watches", "123\n"},
      {"/proc/sys/fs/inotify/max_user_instances", "junk\n"},
      {"/proc/meminfo",
       "MemTotal:  8 kB\nMemFree: 1 kB\nMemAvailable:    4 kB\nSwapTotal: 2 kB\nSwapFree: 1 kB\n\n"
       "Junk\nHugePages_Total: x\n"}};
  const FileReader read = [&](const std::string& path) -> std::optional<std::string> {
    const auto found = files.find(path);
    if (found == files.end()) return std::nullopt;
    return found->second;
  };
  EXPECT_EQ(LookAtWatches(read).watches, 123u);
  EXPECT_EQ(LookAtWatches(read).instances, 0u);
  const MemoryFacts memory = LookAtMemory(read);
  EXPECT_EQ(memory.total, 8192u);
  EXPECT_EQ(memory.available, 4096u);
  EXPECT_EQ(memory.swap_total, 2048u);
  EXPECT_EQ(memory.swap_free, 1024u);
  const FileReader nothing = [](const std::string&) { return std::nullopt; };
  EXPECT_EQ(LookAtMemory(nothing).total, 0u);
  EXPECT_EQ(LookAtWatches(nothing).watches, 0u);
  // This machine itself reports values.
  EXPECT_GT(LookAtMemory().total, kMiB);
  EXPECT_GT(LookAtWatches().watches, 0u);
  EXPECT_GT(ProcessLimit(), 0u);
}

TEST(MachineHealthTest, AddsUpTheLogs) {
  char name[] = "/tmp/machine-XXXXXX";
  const std::string directory = mkdtemp(name);
  std::ofstream(directory + "/a.log") << std::string(1000, 'x');
  std::ofstream(directory + "/a.log.1") << std::string(500, 'x');
  std::filesystem::create_symlink("nowhere", directory + "/link");
  const LogFacts facts = LookAtLogs(directory);
  EXPECT_EQ(facts.bytes, 1500u);
  EXPECT_EQ(facts.files, 2u);
  EXPECT_EQ(LookAtLogs(directory + "/gone").files, 0u);
  std::filesystem::remove_all(directory);
}

TEST(MachineHealthTest, NamesAProxyThatIsInTheWayOfTensorBoard) {
  EXPECT_TRUE(CheckProxy(false).empty());
  const Findings findings = CheckProxy(true);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].level, Level::kWarn);
  EXPECT_THAT(findings[0].fix, ::testing::HasSubstr("no_grpc_proxy=localhost"));
}

}  // namespace
}  // namespace yard
