// Repeatedly kills a launcher at a random instant, while it starts, restarts, stops and ends jobs,
// and checks that nothing of their tasks is lost or done twice. The test runs itself as the
// launcher that is killed. $KILLS is the number of kills (1000); $KILL_SEED repeats a run.
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bus/schema/launcher_generated.h"
#include "launcher/fixtures/testing_table.h"
#include "launcher/job/job_row.h"
#include "launcher/job/supervisor.h"
#include "launcher/process/process_table.h"
#include "launcher/run/job_table.h"
#include "runtime/file/file.h"
#include "runtime/process/subprocess.h"

namespace launcher {
namespace {

constexpr int kKillsAYard = 100;
constexpr std::size_t kLiveJobs = 4;
constexpr int kLines = 20;
// A launcher lives no longer than this; half of the launchers only up to one of their first
// kMaxPoints points.
constexpr int kMaxLifeUs = 150'000;
constexpr int kMaxPoints = 60;

// ---- The jobs. Each attempt creates a file that must not exist, and takes its task's lock.

constexpr char kPrelude[] = R"sh(
set -C
me=${YARD_SOCKET##*/}
{ true > "$FOLDER/ran/$me"; } 2> /dev/null || echo "$me ran twice" >> "$FOLDER/wrong"
exec 9>> "$FOLDER/locks/${me%.*}"
flock -n 9 || echo "$me was not alone" >> "$FOLDER/wrong"
exec 8>&2 2> /dev/null  # A shell tells there that its child was killed.
say() { echo "$me says $1"; echo "$me says $1 to all" >&8; }
lines() {
  i=0
  while [ $i -lt 20 ]; do
    i=$((i + 1))
    say $i
    [ $((i % 8)) != 0 ] || sleep 0.003
  done
}
)sh";

msg::JobSpecT Script(const TestingTable& yard, const char* script) {
  return yard.Shell(absl::StrCat(kPrelude, script));
}

msg::JobSpecT Done(const TestingTable& yard) {
  auto spec = Script(yard, "lines; exit 0");
  AddGroup(&spec, "worker", 2);
  return spec;
}

msg::JobSpecT Fails(const TestingTable& yard) { return Script(yard, "lines; exit 7"); }

msg::JobSpecT Twice(const TestingTable& yard) {
  auto spec = Script(yard, "lines; [ ${me##*.} -ge 3 ] || exit 3");
  spec.restart = msg::RestartPolicy::OnFailure;
  spec.max_restarts = 5;
  return spec;
}

msg::JobSpecT Gang(const TestingTable& yard) {
  auto spec = Script(yard,
                     "lines; [ $TORCHELASTIC_RESTART_COUNT = 0 ] || exit 0;"
                     "[ $RANK = 1 ] && exit 5; exec sleep 1000");
  AddGroup(&spec, "worker", 2);
  spec.gang = true;
  spec.restart = msg::RestartPolicy::OnFailure;
  spec.max_restarts = 1;
  return spec;
}

msg::JobSpecT Stopped(const TestingTable& yard) {
  auto spec = Script(yard,
                     "trap \"trap '' TERM; say stopped; exit 9\" TERM;"
                     "i=0; while :; do i=$((i + 1)); say $i; sleep 0.01; done");
  spec.stop_grace_ms = 60'000;
  return spec;
}

using MakeSpec = msg::JobSpecT (*)(const TestingTable&);
constexpr MakeSpec kKinds[] = {Done, Fails, Twice, Gang, Stopped};

std::string NameOf(std::size_t number) { return absl::StrCat("n", number); }
std::size_t NumberOf(const msg::JobT& job) {
  std::size_t number = 0;
  EXPECT_TRUE(absl::SimpleAtoi(absl::string_view(job.name).substr(1), &number)) << job.name;
  return number;
}
MakeSpec KindOf(std::size_t number) { return kKinds[number % std::size(kKinds)]; }

absl::StatusOr<msg::JobT> Launch(TestingTable& yard, std::size_t number) {
  auto spec = KindOf(number)(yard);
  spec.name = NameOf(number);
  return yard.Launch(spec, absl::StrCat("request ", number));
}

// ---- The launcher that is killed

void Complain(const TestingTable& yard, const std::string& what) {
  FILE* const file = fopen((yard.folder() + "/wrong").c_str(), "ae");
  if (file == nullptr) abort();
  fprintf(file, "%s\n", what.c_str());
  fclose(file);
}

void KillOurselvesIn(int microseconds) {
  sigevent event = {};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGKILL;
  timer_t timer;
  itimerspec when = {};
  when.it_value = {.tv_sec = 0, .tv_nsec = 1000L * microseconds};
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 ||
      timer_settime(timer, 0, &when, nullptr) != 0) {
    abort();
  }
}

// Makes one random request like the launcher's clients.
void Drive(TestingTable& yard) {
  auto jobs = yard.List();
  std::size_t live = 0;
  for (const msg::JobT& job : jobs) {
    if (HasEnded(job.state)) continue;
    ++live;
    if (KindOf(NumberOf(job)) != Stopped || job.stop_requested) continue;
    std::error_code none;
    if (std::filesystem::file_size(job.tasks[0]->stdout_path, none) == 0 || none) continue;
    if (auto asked = yard.Stop(job.id, absl::ZeroDuration()); !asked.ok()) {
      Complain(yard, asked.ToString());
    }
  }
  for (std::size_t number = jobs.size(); live < kLiveJobs; ++number, ++live) {
    if (auto job = Launch(yard, number); !job.ok()) Complain(yard, job.status().ToString());
  }
}

// Repeats the last Launch, whose caller may not have got the reply.
void LaunchLastAgain(TestingTable& yard) {
  const std::size_t count = yard.List().size();
  if (count == 0) return;
  const auto job = Launch(yard, count - 1);
  if (!job.ok()) Complain(yard, job.status().ToString());
  if (yard.List().size() != count) Complain(yard, "the same request made another job");
}

void RunLauncher(const std::string& folder) {
  std::mt19937_64 random(std::strtoull(getenv("KILL_SEED"), nullptr, 10));
  const auto below = [&](int end) {
    return std::uniform_int_distribution<int>(0, end - 1)(random);
  };
  const bool at_point = below(2) == 0;
  int left = at_point ? below(kMaxPoints) : std::numeric_limits<int>::max();
  TestingTable yard(folder);
  KillOurselvesIn(1 + (at_point ? 4 * kMaxLifeUs : below(kMaxLifeUs)));
  const auto opened = yard.Open([&](std::string_view point) {
    if (--left >= 0) return;
    // (No other process writes to the file.)
    FILE* const file = fopen((folder + "/points").c_str(), "ae");
    if (file != nullptr) {
      fprintf(file, "%.*s\n", static_cast<int>(point.size()), point.data());
      fflush(file);
    }
    kill(getpid(), SIGKILL);
  });
  if (!opened.ok()) Complain(yard, opened.ToString());
  LaunchLastAgain(yard);
  (void)yard.AwaitTrue([&] {
    Drive(yard);
    return false;
  });
}

// ---- The test

std::string ReadWhole(const std::string& path) {
  return runtime::ReadFile(path, 64 << 20).value_or("");
}

std::uint64_t NumberIn(const char* name, std::uint64_t otherwise) {
  const char* const text = getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

void RunLauncherUntilKilled(const std::string& folder, std::uint64_t seed) {
  runtime::Subprocess::Options options;
  options.program = std::filesystem::read_symlink("/proc/self/exe");
  options.argv = {options.program};
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (text.starts_with("XML_OUTPUT_FILE=") || text.starts_with("KILL_SEED=")) continue;
    options.environment.push_back(*entry);
  }
  options.environment.push_back("KILL_FOLDER=" + folder);
  options.environment.push_back(absl::StrCat("KILL_SEED=", seed));
  auto child = runtime::Subprocess::Start(options);
  ASSERT_TRUE(child.ok()) << child.status();
  const auto status = child->Wait(absl::Seconds(60));
  ASSERT_TRUE(status.ok()) << status.status();
  ASSERT_EQ(status->signal, SIGKILL) << status->ToString();
}

// Returns the first `count` lines that an attempt writes.
std::string Lines(const std::string& me, std::size_t count, const std::string& tail) {
  std::string text;
  for (std::size_t i = 1; i <= count; ++i) absl::StrAppend(&text, me, " says ", i, tail, "\n");
  return text;
}

enum class Saying { kAll, kSome, kUntilStopped };

void ExpectOutput(const std::string& path, const std::string& me, bool is_stdout, Saying saying) {
  const std::string tail = is_stdout ? "" : " to all";
  const std::string text = ReadWhole(path);
  const auto count = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  if (saying == Saying::kUntilStopped) {
    ASSERT_GE(count, 1u) << path;
    EXPECT_EQ(text, absl::StrCat(Lines(me, count - 1, tail), me, " says stopped", tail, "\n"))
        << path;
    return;
  }
  EXPECT_EQ(text, Lines(me, saying == Saying::kAll ? kLines : count, tail)) << path;
}

// The expected end of each attempt of a task.
struct Expected {
  int exit_code = 0;
  bool was_cut = false;  // Stopped because of another task, at any time.
};

std::vector<Expected> ExpectedOf(MakeSpec kind, std::uint32_t rank) {
  if (kind == Fails) return {{7}};
  if (kind == Twice) return {{3}, {3}, {0}};
  if (kind == Gang) return {rank == 1 ? Expected{5} : Expected{0, true}, {0}};
  if (kind == Stopped) return {{9}};
  return {{0}};
}

int CheckJob(TestingTable& yard, const msg::JobT& job) {
  const MakeSpec kind = KindOf(NumberOf(job));
  EXPECT_EQ(job.state, kind == Fails ? msg::TaskState::Failed : msg::TaskState::Exited)
      << job.name << ": " << job.reason;
  EXPECT_EQ(job.stop_requested, kind == Stopped) << job.name;
  int attempts = 0;
  for (const auto& task : job.tasks) {
    const auto expected = ExpectedOf(kind, task->rank);
    EXPECT_EQ(task->attempts.size(), expected.size()) << task->id;
    for (std::size_t i = 0; i < std::min(expected.size(), task->attempts.size()); ++i) {
      const msg::AttemptT& attempt = *task->attempts[i];
      const std::string me = absl::StrCat(job.id, ".worker-", task->index, ".", attempt.number);
      SCOPED_TRACE(absl::StrCat(me, ": ", attempt.reason));
      ++attempts;
      EXPECT_FALSE(attempt.shim_lost);
      if (expected[i].was_cut) {
        EXPECT_TRUE(attempt.was_stopped);
      } else {
        EXPECT_EQ(attempt.signal, 0);
        EXPECT_EQ(attempt.exit_code, expected[i].exit_code);
      }
      const Saying saying = expected[i].was_cut ? Saying::kSome
                            : kind == Stopped   ? Saying::kUntilStopped
                                                : Saying::kAll;
      const std::string path = absl::StrCat(yard.state_directory(), "/jobs/", job.id, "/worker-",
                                            task->index, ".", attempt.number);
      ExpectOutput(path + ".stdout", me, true, saying);
      ExpectOutput(path + ".stderr", me, false, saying);
    }
  }
  return attempts;
}

// Checks that the rows contain the end of each attempt's output.
void CheckEnds(TestingTable& yard) {
  yard.OnLoop([&] {
    for (const JobRow* row : yard.table()->Rows()) {
      for (const TaskRow& task : row->tasks) {
        for (const AttemptRow& attempt : task.attempts) {
          std::error_code none;
          const auto path =
              LogPath(*row, task, yard.state_directory(), attempt.number, msg::LogStream::Stdout);
          EXPECT_EQ(attempt.stdout_begin, 0u) << path;
          EXPECT_EQ(attempt.stdout_end, std::filesystem::file_size(path, none)) << path;
        }
      }
    }
  });
}

bool IsLeft(const TestingTable& yard) {
  for (const auto& row : ReadProcesses()) {
    const auto words = runtime::ReadFile(absl::StrCat("/proc/", row.pid, "/cmdline"), 1 << 20);
    if (words.ok() && absl::StrContains(*words, yard.state_directory())) return true;
  }
  return false;
}

struct Tally {
  std::size_t jobs = 0;
  int attempts = 0;
  std::map<std::string, int> points;
};

void KillRepeatedly(int kills, std::uint64_t seed, Tally* tally) {
  TestingTable yard;  // Owns the folder.
  for (const char* folder : {"/ran", "/locks"}) {
    std::filesystem::create_directory(yard.folder() + folder);
  }
  for (int i = 0; i < kills; ++i) {
    RunLauncherUntilKilled(yard.folder(), seed + static_cast<std::uint64_t>(i));
    if (::testing::Test::HasFatalFailure()) return;
  }
  ASSERT_TRUE(yard.Open().ok());
  LaunchLastAgain(yard);
  ASSERT_TRUE(yard.AwaitTrue([&] {
    bool live = false;
    for (const msg::JobT& job : yard.List()) {
      if (HasEnded(job.state)) continue;
      live = true;
      // (Before its first output the task cannot be stopped gracefully.)
      if (KindOf(NumberOf(job)) == Stopped && !job.stop_requested &&
          !ReadWhole(job.tasks[0]->stdout_path).empty()) {
        EXPECT_TRUE(yard.Stop(job.id, absl::ZeroDuration()).ok());
      }
    }
    return !live;
  }));
  std::set<std::string> names;
  for (const msg::JobT& job : yard.List()) {
    EXPECT_TRUE(names.insert(job.name).second) << job.name << " is there twice";
    tally->attempts += CheckJob(yard, job);
  }
  tally->jobs += names.size();
  CheckEnds(yard);
  EXPECT_TRUE(yard.AwaitTrue([&] { return !IsLeft(yard); })) << "a shim is left";
  EXPECT_EQ(ReadWhole(yard.folder() + "/wrong"), "");
  for (const absl::string_view point :
       absl::StrSplit(ReadWhole(yard.folder() + "/points"), '\n', absl::SkipEmpty())) {
    ++tally->points[std::string(point)];
  }
}

TEST(RandomKillTest, NothingIsLostOrDoneTwice) {
  if (const char* folder = getenv("KILL_FOLDER")) return RunLauncher(folder);
  const auto kills = static_cast<int>(NumberIn("KILLS", 1000));
  const std::uint64_t seed =
      NumberIn("KILL_SEED", static_cast<std::uint64_t>(absl::ToUnixMicros(absl::Now())));
  fprintf(stderr, "KILL_SEED=%llu\n", static_cast<unsigned long long>(seed));
  const absl::Time begin = absl::Now();
  Tally tally;
  for (int done = 0; done < kills; done += kKillsAYard) {
    SCOPED_TRACE(absl::StrCat("KILL_SEED=", seed, ", kills from ", done));
    KillRepeatedly(std::min(kKillsAYard, kills - done), seed + static_cast<std::uint64_t>(done),
                   &tally);
    if (HasFailure()) return;
  }
  fprintf(stderr, "%d kills, %zu jobs, %d attempts, %.1f s\n", kills, tally.jobs, tally.attempts,
          absl::ToDoubleSeconds(absl::Now() - begin));
  for (const auto& [point, count] : tally.points) {
    fprintf(stderr, "%5d at \"%s\"\n", count, point.c_str());
  }
  EXPECT_GE(tally.jobs, static_cast<std::size_t>(kills) / 10);
}

}  // namespace
}  // namespace launcher
