#include "launcher/run/usage_meter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "launcher/fixtures/testing_table.h"
#include "launcher/job/job_row.h"
#include "launcher/process/process_table.h"
#include "launcher/run/job_table.h"
#include "runtime/fake_clock.h"
#include "runtime/file/file.h"

namespace launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// One process of a fake /proc; processor time in ticks, memory in pages.
struct FakeProcess {
  pid_t pid, parent;
  int start = 7, cpu = 0, waited_cpu = 0, pages = 0;
  char state = 'S';
  std::string name = "python3";
};

class UsageMeterTest : public ::testing::Test {
 protected:
  UsageMeterTest() {
    std::string folder = ::testing::TempDir() + "usage-XXXXXX";
    folder_ = mkdtemp(folder.data());
  }
  ~UsageMeterTest() override { std::filesystem::remove_all(folder_); }

  void Write(const std::string& file, const std::string& text) {
    const std::string path = folder_ + "/" + file;
    ASSERT_TRUE(runtime::MakeDirectories(std::filesystem::path(path).parent_path()).ok());
    ASSERT_TRUE(runtime::WriteFileAtomically(path, text, 0600).ok());
  }
  void Add(const FakeProcess& p) {
    Write(absl::StrCat("proc/", p.pid, "/stat"),
          absl::StrCat(p.pid, " (", p.name, ") ", std::string(1, p.state), " ", p.parent,
                       " 1 1 0 -1 4194304 9 9 0 0 ", p.cpu, " 0 ", p.waited_cpu, " 0 20 0 1 0 ",
                       p.start, " 99999999 ", p.pages, " 18446744073709551615 1 1 0 0\n"));
  }
  UsageMeter Meter(absl::Duration pace = absl::Milliseconds(500)) {
    return UsageMeter({.proc = folder_ + "/proc",
                       .clock = &clock_,
                       .pace = pace,
                       .cgroups_of = [this](const std::string& attempt) {
                         asked_.push_back(attempt);
                         return groups_;
                       }});
  }
  static RunningAttempt Attempt(pid_t pid, const std::string& task = "j-abcde/worker-0") {
    return {.task = task, .number = 2, .pid = pid, .start_ticks = 7, .folder = "attempt-" + task};
  }

  std::string folder_;
  runtime::FakeClock clock_;
  std::vector<std::string> groups_, asked_;
  const std::uint64_t tick_us_ = 1'000'000 / static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
  const std::uint64_t page_ = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
};

TEST_F(UsageMeterTest, SumsUpWhatIsBelowTheShim) {
  Add({.pid = 40, .parent = 1, .cpu = 1000, .waited_cpu = 5, .name = "yard-shim"});
  Add({.pid = 41, .parent = 40, .cpu = 10, .waited_cpu = 20, .pages = 100});
  Add({.pid = 42, .parent = 41, .cpu = 30, .pages = 50, .name = "a) R 1 (b c"});
  Add({.pid = 43, .parent = 40, .cpu = 1, .pages = 7, .name = "an orphan"});
  Add({.pid = 44, .parent = 41, .cpu = 2, .pages = 1000, .state = 'Z'});
  Add({.pid = 50, .parent = 1, .cpu = 9999, .pages = 9999, .name = "a stranger"});
  UsageMeter meter = Meter();
  const auto reply = meter.Measure({Attempt(41)});
  ASSERT_THAT(reply.tasks, SizeIs(1));
  const msg::TaskUsageT& usage = *reply.tasks[0];
  EXPECT_EQ(usage.task, "j-abcde/worker-0");
  EXPECT_EQ(usage.attempt, 2u);
  EXPECT_EQ(usage.source, "proc");
  // What the shim needs is not the task's, what it has waited for is; so is a zombie's time.
  EXPECT_EQ(usage.cpu_us, (5 + 10 + 20 + 30 + 1 + 2) * tick_us_);
  EXPECT_EQ(usage.rss_bytes, 157 * page_);
  EXPECT_EQ(usage.processes, 3u);
  EXPECT_EQ(reply.measured_us, absl::ToUnixMicros(clock_.Now()));
  EXPECT_GT(reply.cores, 0u);
  EXPECT_GT(reply.memory_bytes, 0u);
}

TEST_F(UsageMeterTest, AnotherProcessOfTheSameNumberIsNobody) {
  Add({.pid = 41, .parent = 1, .start = 8});
  UsageMeter meter = Meter();
  EXPECT_THAT(meter.Measure({Attempt(41), Attempt(99)}).tasks, IsEmpty());
}

TEST_F(UsageMeterTest, WithoutItsShimAProgramIsCountedByItself) {
  Add({.pid = 41, .parent = 1, .cpu = 10, .pages = 1});
  Add({.pid = 42, .parent = 41, .cpu = 5, .pages = 2});
  Add({.pid = 43, .parent = 1, .cpu = 500, .pages = 500});
  UsageMeter meter = Meter();
  const auto reply = meter.Measure({Attempt(41)});
  ASSERT_THAT(reply.tasks, SizeIs(1));
  EXPECT_EQ(reply.tasks[0]->cpu_us, 15 * tick_us_);
  EXPECT_EQ(reply.tasks[0]->processes, 2u);
}

// Rows are read one after the other, so they need not be a tree.
TEST_F(UsageMeterTest, ACircleOfParentsEnds) {
  Add({.pid = 40, .parent = 42});
  Add({.pid = 41, .parent = 40, .cpu = 1});
  Add({.pid = 42, .parent = 41, .cpu = 1});
  UsageMeter meter = Meter();
  EXPECT_EQ(meter.Measure({Attempt(41)}).tasks[0]->cpu_us, 2 * tick_us_);
}

TEST_F(UsageMeterTest, PrefersTheAccountsOfControlGroups) {
  Add({.pid = 40, .parent = 1});
  Add({.pid = 41, .parent = 40, .cpu = 10, .pages = 100});
  const std::string version2 = "usage_usec 123456\nuser_usec 1\nsystem_usec 2\n";
  const std::string memory2 = "anon 4096\nfile 77777777\nfile_mapped 8192\n";
  const std::string memory1 =
      "cache 1\nrss 2\ntotal_cache 5\ntotal_rss 300\ntotal_mapped_file 40\n";
  struct Row {
    std::string what;
    std::vector<std::pair<std::string, std::string>> files;
    std::uint64_t cpu_us, rss_bytes;
    std::string source;
  };
  const std::vector<Row> rows = {
      {"none", {}, 10 * tick_us_, 100 * page_, "proc"},
      {"version 2", {{"cpu.stat", version2}, {"memory.stat", memory2}}, 123456, 12288, "cgroup"},
      {"2 without memory", {{"cpu.stat", version2}}, 123456, 100 * page_, "cgroup"},
      {"cpuacct of 1", {{"cpuacct.usage", "123456789\n"}}, 123456, 100 * page_, "cgroup"},
      // (Version 1 has another cpu.stat.)
      {"cpu of 1", {{"cpu.stat", "nr_periods 0\n"}}, 10 * tick_us_, 100 * page_, "proc"},
      {"memory of 1", {{"memory.stat", memory1}}, 10 * tick_us_, 340, "proc"},
      {"nonsense",
       {{"cpu.stat", "usage_usec\nusage_usec x\n usage_usec 1\n"},
        {"cpuacct.usage", "-5\n"},
        {"memory.stat", "anon 99999999999999999999\nanon\n"}},
       10 * tick_us_,
       100 * page_,
       "proc"},
  };
  for (const Row& row : rows) {
    groups_ = {folder_ + "/" + row.what, folder_ + "/gone"};
    for (const auto& [file, text] : row.files) Write(row.what + "/" + file, text);
    UsageMeter meter = Meter();
    const auto reply = meter.Measure({Attempt(41)});
    ASSERT_THAT(reply.tasks, SizeIs(1)) << row.what;
    EXPECT_EQ(reply.tasks[0]->cpu_us, row.cpu_us) << row.what;
    EXPECT_EQ(reply.tasks[0]->rss_bytes, row.rss_bytes) << row.what;
    EXPECT_EQ(reply.tasks[0]->source, row.source) << row.what;
  }
}

TEST_F(UsageMeterTest, LooksAgainOnlyAfterAWhile) {
  Add({.pid = 40, .parent = 1});
  Add({.pid = 41, .parent = 40, .cpu = 1});
  UsageMeter meter = Meter();
  meter.Measure({Attempt(41)});
  Add({.pid = 41, .parent = 40, .cpu = 2});
  clock_.Advance(absl::Milliseconds(499));
  EXPECT_EQ(meter.Measure({Attempt(41)}).tasks[0]->cpu_us, tick_us_);
  clock_.Advance(absl::Milliseconds(1));
  EXPECT_EQ(meter.Measure({Attempt(41)}).tasks[0]->cpu_us, 2 * tick_us_);
}

TEST_F(UsageMeterTest, AsksForAnAttemptsControlGroupsOnce) {
  UsageMeter meter = Meter(absl::ZeroDuration());
  Add({.pid = 40, .parent = 1});
  Add({.pid = 41, .parent = 40});
  meter.Measure({Attempt(41, "a")});
  meter.Measure({Attempt(41, "a"), Attempt(41, "b")});
  meter.Measure({Attempt(41, "b")});
  EXPECT_THAT(asked_, ElementsAre("attempt-a", "attempt-b"));
  // It has forgotten the one that has ended.
  meter.Measure({Attempt(41, "a")});
  EXPECT_THAT(asked_, SizeIs(3));
}

TEST(UsageOfARealTaskTest, HasWhatEndedAndWhatTheTaskHasLeftAlone) {
  TestingTable table;
  ASSERT_TRUE(table.Open().ok());
  const auto job = table.Launch(
      table.Shell("(i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done); (sleep 1000 &); echo up; "
                  "sleep 1000; true"));
  ASSERT_TRUE(job.ok()) << job.status();
  ASSERT_TRUE(table.AwaitRunning(job->id).has_value());
  UsageMeter meter({.pace = absl::ZeroDuration()});
  const auto measure = [&] {
    std::vector<RunningAttempt> running;
    table.OnLoop([&] {
      const JobRow& row = *table.table()->Row(job->id);
      const AttemptRow& last = row.tasks[0].attempts.back();
      running = {{.task = row.id + "/worker-0",
                  .number = 1,
                  .pid = last.pid,
                  .start_ticks = last.start_ticks,
                  .folder = AttemptFolder(row, row.tasks[0], table.state_directory(), 1)}};
    });
    return meter.Measure(running);
  };
  // The loop of the first subshell takes some hundredths of a second of somebody who is gone.
  EXPECT_TRUE(table.AwaitLine("up"));
  EXPECT_TRUE(table.AwaitTrue([&] {
    const auto reply = measure();
    return reply.tasks.size() == 1 && reply.tasks[0]->processes == 3 &&
           reply.tasks[0]->rss_bytes > 0 && reply.tasks[0]->cpu_us >= 20'000;
  }));
  EXPECT_TRUE(table.Stop(job->id, absl::Milliseconds(1)).ok());
  ASSERT_TRUE(table.AwaitEnd(job->id).has_value());
  EXPECT_THAT(measure().tasks, IsEmpty());
}

}  // namespace
}  // namespace launcher
