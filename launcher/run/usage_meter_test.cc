#include "launcher/run/usage_meter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "launcher/fixtures/testing_table.h"
#include "launcher/gpu/gpu_meter.h"
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

// One process in a fake /proc; CPU time in ticks, memory in pages.
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
                       .cgroups_of =
                           [this](const std::string& attempt) {
                             asked_.push_back(attempt);
                             return groups_;
                           },
                       .gpus =
                           [this](bool with_processes) {
                             GpuMeter::Reply reply = gpus_;
                             if (!with_processes) reply.figures.processes.clear();
                             asked_for_processes_.push_back(with_processes);
                             return reply;
                           }});
  }
  void AddDisks(pid_t pid, std::uint64_t read, std::uint64_t written) {
    Write(absl::StrCat("proc/", pid, "/io"),
          absl::StrCat("rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: ", read,
                       "\nwrite_bytes: ", written, "\ncancelled_write_bytes: 5\n"));
  }
  void AddGpus(std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      msg::GpuUsageT gpu;
      gpu.index = i;
      gpu.utilisation = 10 * i;
      gpus_.figures.gpus.push_back(gpu);
    }
  }
  static RunningAttempt Attempt(pid_t pid, const std::string& task = "j-abcde/worker-0") {
    return {.task = task, .number = 2, .pid = pid, .start_ticks = 7, .folder = "attempt-" + task};
  }

  std::string folder_;
  runtime::FakeClock clock_;
  std::vector<std::string> groups_, asked_;
  GpuMeter::Reply gpus_;
  std::vector<bool> asked_for_processes_;
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
  // The shim's own time does not count as the task's; the time of processes that the shim has
  // waited for does, and so does a zombie's.
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

// The rows are not read at one instant, so they need not form a tree.
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
  // The meter has forgotten the attempt that has ended.
  meter.Measure({Attempt(41, "a")});
  EXPECT_THAT(asked_, SizeIs(3));
}

TEST_F(UsageMeterTest, SumsUpBytesOfDisks) {
  Add({.pid = 40, .parent = 1, .name = "yard-shim"});
  AddDisks(40, 1'000'000, 1'000'000);
  Add({.pid = 41, .parent = 40});
  AddDisks(41, 4096, 8192);
  Add({.pid = 42, .parent = 41});
  AddDisks(42, 100, 200);
  Add({.pid = 43, .parent = 41});  // A process of another user, whose I/O is not readable.
  UsageMeter meter = Meter(absl::ZeroDuration());
  const auto first = meter.Measure({Attempt(41)});
  EXPECT_TRUE(first.tasks[0]->io_known);
  EXPECT_EQ(first.tasks[0]->read_bytes, 4196u);
  EXPECT_EQ(first.tasks[0]->written_bytes, 8392u);
  // A process has ended that only its shim has waited for.
  std::filesystem::remove_all(folder_ + "/proc/42");
  AddDisks(41, 4097, 9000);
  const auto second = meter.Measure({Attempt(41)});
  EXPECT_EQ(second.tasks[0]->read_bytes, 4196u);
  EXPECT_EQ(second.tasks[0]->written_bytes, 9000u);
}

TEST_F(UsageMeterTest, WhatCannotBeReadOrIsNonsenseIsUnknown) {
  Add({.pid = 40, .parent = 1});
  Add({.pid = 41, .parent = 40, .cpu = 3, .pages = 1});
  const std::string texts[] = {"",
                               "read_bytes: \nwrite_bytes: 1\n",
                               "read_bytes: -1\nwrite_bytes: -1\n",
                               "read_bytes: 99999999999999999999\nwrite_bytes: 2\n",
                               "read_bytes 1\nwrite_bytes 2\n",
                               std::string("\0\0\n\xff: \x01", 7),
                               std::string(100'000, 'x')};
  for (const std::string& text : texts) {
    Write("proc/41/io", text);
    UsageMeter meter = Meter();
    const auto reply = meter.Measure({Attempt(41)});
    ASSERT_THAT(reply.tasks, SizeIs(1));
    EXPECT_FALSE(reply.tasks[0]->io_known) << text;
    EXPECT_EQ(reply.tasks[0]->cpu_us, 3 * tick_us_);
  }
  Write("proc/41/io", "read_bytes: 18446744073709551615\nwrite_bytes: 2\n");
  Add({.pid = 42, .parent = 41});
  AddDisks(42, 18'446'744'073'709'551'615u, 1);
  UsageMeter meter = Meter();
  // (The sum does not overflow.)
  EXPECT_GT(meter.Measure({Attempt(41)}).tasks[0]->read_bytes, std::uint64_t{1} << 56);
}

TEST_F(UsageMeterTest, NonsenseInProcIsNoProcess) {
  Add({.pid = 40, .parent = 1});
  Add({.pid = 41, .parent = 40, .cpu = 3});
  Write("proc/42/stat", "");
  Write("proc/43/stat", "43 (a");
  Write("proc/44/stat", "44 (b) S 40 1 1 0 -1");
  Write("proc/45/stat", "45 ()))) S x y z\n");
  Write("proc/46/stat", std::string(10'000, ')'));
  Write("proc/99999999999999999999/stat", "1 (c) S 40 1 1\n");
  Write("proc/48", "a file");
  UsageMeter meter = Meter();
  const auto reply = meter.Measure({Attempt(41)});
  ASSERT_THAT(reply.tasks, SizeIs(1));
  EXPECT_EQ(reply.tasks[0]->processes, 1u);
  EXPECT_EQ(reply.tasks[0]->cpu_us, 3 * tick_us_);
}

TEST_F(UsageMeterTest, ATaskHasTheGpusThatItWasGiven) {
  AddGpus(4);
  Add({.pid = 40, .parent = 1});
  Add({.pid = 41, .parent = 40});
  // According to the driver, the process computes on another GPU.
  gpus_.figures.processes = {{41, 3}};
  Write("proc/41/environ", std::string("A=1\0CUDA_VISIBLE_DEVICES=2,0\0B=2\0", 34));
  UsageMeter meter = Meter(absl::ZeroDuration());
  const auto reply = meter.Measure({Attempt(41)});
  EXPECT_THAT(reply.tasks[0]->gpus, ElementsAre(2, 0));
  ASSERT_THAT(reply.gpus, SizeIs(4));
  EXPECT_EQ(reply.gpus[3]->utilisation, 30);
  // A later change of the variable does not matter.
  Write("proc/41/environ", std::string("CUDA_VISIBLE_DEVICES=1\0", 23));
  EXPECT_THAT(meter.Measure({Attempt(41)}).tasks[0]->gpus, ElementsAre(2, 0));
  // The driver is then not asked for processes.
  EXPECT_THAT(asked_for_processes_, ElementsAre(true, false));
}

TEST_F(UsageMeterTest, WithoutSuchAWordATaskHasTheGpusOnWhichItComputes) {
  AddGpus(4);
  Add({.pid = 40, .parent = 1});
  Add({.pid = 41, .parent = 40});
  Add({.pid = 42, .parent = 41});
  Write("proc/41/environ", std::string("MY_CUDA_VISIBLE_DEVICES=1\0", 26));
  gpus_.figures.processes = {{42, 3}, {42, 1}, {41, 3}, {99, 0}};
  UsageMeter meter = Meter(absl::ZeroDuration());
  EXPECT_THAT(meter.Measure({Attempt(41)}).tasks[0]->gpus, ElementsAre(1, 3));
  gpus_.figures.processes.clear();
  EXPECT_THAT(meter.Measure({Attempt(41)}).tasks[0]->gpus, IsEmpty());
}

TEST_F(UsageMeterTest, ATaskFromWhichAllGpusAreHiddenHasNone) {
  AddGpus(1);
  Add({.pid = 40, .parent = 1});
  Add({.pid = 41, .parent = 40});
  Write("proc/41/environ", std::string("CUDA_VISIBLE_DEVICES=\0", 22));
  gpus_.figures.processes = {{41, 0}};
  UsageMeter meter = Meter();
  EXPECT_THAT(meter.Measure({Attempt(41)}).tasks[0]->gpus, IsEmpty());
}

TEST_F(UsageMeterTest, SaysWhyThereAreNoGpus) {
  Add({.pid = 40, .parent = 1});
  Add({.pid = 41, .parent = 40});
  gpus_.why_none = "Driver Not Loaded";
  UsageMeter meter = Meter();
  EXPECT_EQ(meter.Measure({Attempt(41)}).why_no_gpus, "Driver Not Loaded");
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
  // The loop of the first subshell uses some hundredths of a second of CPU time, and has ended.
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
