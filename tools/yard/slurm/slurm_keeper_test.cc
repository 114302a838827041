// Tests the keeper with scripts in place of Slurm's programs, which keep jobs as files.

#include "tools/yard/slurm/slurm_keeper.h"

#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bus/access/key_folder.h"
#include "bus/schema/launcher_generated.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/file/file.h"
#include "runtime/file/unique_fd.h"
#include "runtime/mutex.h"
#include "runtime/thread.h"
#include "tools/yard/slurm/slurm_pool.h"

namespace yard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;
using Phase = SlurmPoolState::Phase;

constexpr absl::Duration kDeadline = absl::Seconds(60);

// A job is a file jobs/ID with its squeue line. The files `refuse`, `lose` and `down` change the
// behaviour.
constexpr char kSbatch[] = R"sh(#!/bin/sh
f=${0%/*}; echo "sbatch $*" >> "$f/calls"
[ -e "$f/down" ] && { echo "sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)" >&2; exit 1; }
[ -e "$f/refuse" ] && { cat "$f/refuse" >&2; exit 1; }
while [ $# -gt 0 ]; do [ "$1" = -J ] && n=$2; shift; done
until mkdir "$f/lock" 2>/dev/null; do :; done
id=$(($(cat "$f/last" 2>/dev/null || echo 16) + 1)); echo $id > "$f/last"
rmdir "$f/lock"
env > "$f/env.$id"; cat > "$f/script.$id"
echo "$id|$n|PENDING|1795869532||Priority|N/A" > "$f/new.$$" && mv "$f/new.$$" "$f/jobs/$id"
[ -e "$f/lose" ] && exit 1
echo "$id"
)sh";
constexpr char kSqueue[] = R"sh(#!/bin/sh
f=${0%/*}; echo "squeue $*" >> "$f/calls"
[ -e "$f/down" ] && { echo "slurm_load_jobs error: Unable to contact slurm controller (connect failure)" >&2; exit 1; }
while [ $# -gt 0 ]; do case $1 in -n) n=$2;; -j) j=$2;; esac; shift; done
[ -n "$j" ] && { cat "$f/jobs/$j" 2>/dev/null || { echo "slurm_load_jobs error: Invalid job id specified" >&2; exit 1; }; exit 0; }
[ -n "$n" ] && { cat "$f"/jobs/* 2>/dev/null | grep "|$n|"; exit 0; }
cat "$f"/jobs/* 2>/dev/null; exit 0
)sh";
constexpr char kScancel[] = R"sh(#!/bin/sh
f=${0%/*}; echo "scancel $*" >> "$f/calls"
[ -e "$f/down" ] && exit 8
while [ $# -gt 0 ]; do [ "$1" = -n ] && n=$2; shift; done
for j in $(grep -l "|$n|" "$f"/jobs/*); do sed -i 's/PENDING\|RUNNING/CANCELLED/' "$j"; done; exit 0
)sh";
constexpr char kScontrol[] = R"sh(#!/bin/sh
case $* in
  *config*) echo "KillWait                = 30 sec"; echo "MessageTimeout          = 1 sec"; echo "SLURM_VERSION           = 22.05.8";;
  *) echo "JobId=17 ExitCode=101:0 X=1";;
esac
)sh";

std::string TemporaryFolder() {
  char name[] = "/tmp/ysXXXXXX";
  return mkdtemp(name);
}

// A fake launcher that stores nodes.
class FakeNodes {
 public:
  SlurmCalls Calls() {
    return {.nodes = [this]() -> absl::StatusOr<std::vector<msg::NodeT>> {
              const runtime::MutexLock lock(mutex_);
              if (is_down_) return absl::UnavailableError("no launcher");
              ++looks_;
              std::vector<msg::NodeT> nodes;
              for (const auto& [name, node] : nodes_) nodes.push_back(node);
              return nodes;
            },
            .wanted_pools = [this](bool) -> absl::StatusOr<std::set<std::string>> {
              const runtime::MutexLock lock(mutex_);
              return wanted_;
            },
            .live_sweeps = [this]() -> absl::StatusOr<std::set<std::string>> {
              const runtime::MutexLock lock(mutex_);
              return sweeps_;
            },
            .set_node =
                [this](const msg::SetNodeRequestT& request) {
                  const runtime::MutexLock lock(mutex_);
                  msg::NodeT& node = nodes_[request.name];
                  node.name = request.name;
                  node.pool = request.pool;
                  node.allocation = request.allocation;
                  node.why = request.why;
                  node.draining = request.draining;
                  return absl::OkStatus();
                },
            .remove_node =
                [this](const std::string& node, const std::string& why) {
                  const runtime::MutexLock lock(mutex_);
                  nodes_.erase(node);
                  whys_.push_back(why);
                  return absl::OkStatus();
                },
            .restart_tasks =
                [this](const std::vector<std::string>& tasks) {
                  const runtime::MutexLock lock(mutex_);
                  restarted_ = tasks;
                  for (auto& [name, node] : nodes_) node.tasks.clear();
                  return absl::OkStatus();
                }};
  }
  void Want(const std::string& pool) {
    const runtime::MutexLock lock(mutex_);
    wanted_.insert(pool);
  }
  void SetSweeps(std::set<std::string> sweeps) {
    const runtime::MutexLock lock(mutex_);
    sweeps_ = std::move(sweeps);
  }
  void Connect(const std::string& prefix, bool is_connected) {
    const runtime::MutexLock lock(mutex_);
    for (auto& [name, node] : nodes_) {
      if (!name.starts_with(prefix)) continue;
      node.state = is_connected ? msg::NodeState::Connected : msg::NodeState::Away;
      node.host = "node1";
      node.run = "17.0.x";
    }
  }
  void SetTask(const std::string& name, const std::string& task) {
    const runtime::MutexLock lock(mutex_);
    nodes_[name].tasks = {task};
  }
  std::map<std::string, msg::NodeT> nodes() const {
    const runtime::MutexLock lock(mutex_);
    return nodes_;
  }
  std::vector<std::string> whys() const {
    const runtime::MutexLock lock(mutex_);
    return whys_;
  }
  std::vector<std::string> restarted() const {
    const runtime::MutexLock lock(mutex_);
    return restarted_;
  }
  int looks() const {
    const runtime::MutexLock lock(mutex_);
    return looks_;
  }

 private:
  mutable runtime::Mutex mutex_;
  std::map<std::string, msg::NodeT> nodes_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> wanted_ ABSL_GUARDED_BY(mutex_), sweeps_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> whys_ ABSL_GUARDED_BY(mutex_), restarted_ ABSL_GUARDED_BY(mutex_);
  bool is_down_ ABSL_GUARDED_BY(mutex_) = false;
  int looks_ ABSL_GUARDED_BY(mutex_) = 0;
};

class SlurmKeeperTest : public testing::Test {
 protected:
  SlurmKeeperTest() {
    std::filesystem::create_directories(folder_ + "/bin/jobs");
    Program("sbatch", kSbatch);
    Program("squeue", kSqueue);
    Program("scancel", kScancel);
    Program("scontrol", kScontrol);
    times_.retry = absl::Milliseconds(50);
    times_.away_for = absl::Milliseconds(50);
    times_.denied_for = absl::Milliseconds(200);
  }
  ~SlurmKeeperTest() override {
    Stop();
    std::filesystem::remove_all(folder_);
  }

  void Program(const std::string& name, const std::string& text) const {
    EXPECT_TRUE(
        runtime::WriteFileAtomically(bin() + "/" + name, text, runtime::FileMode::Exactly(0700))
            .ok());
  }
  void Put(const std::string& name, const std::string& text = "") const {
    EXPECT_TRUE(runtime::WriteFileAtomically(bin() + "/" + name, text, 0600).ok());
  }
  void Take(const std::string& name) const { std::filesystem::remove(bin() + "/" + name); }
  std::string bin() const { return folder_ + "/bin"; }
  std::string state() const { return folder_ + "/state"; }

  SlurmPool Pool(const std::string& name = "lab") const {
    SlurmPool pool;
    pool.pool = name;
    pool.revision = 1;
    pool.nodes = 2;
    pool.directory = folder_ + "/shared";
    pool.gate = {"tcp://127.0.0.1:7711", "tcp://login1:7711"};
    return pool;
  }
  void Write(const SlurmPool& pool) {
    std::filesystem::create_directories(state());
    std::filesystem::permissions(state(), std::filesystem::perms::owner_all);
    const absl::Status written = files_.Write(pool);
    ASSERT_TRUE(written.ok()) << written;
  }

  void Start() {
    stop_ = runtime::UniqueFd(eventfd(0, EFD_CLOEXEC));
    SlurmKeeperOptions options = {
        .state_directory = state(),
        .environment = {"PATH=" + bin() + ":/usr/bin:/bin", "HOME=/root", "SLURM_NTASKS=3",
                        "SECRET=1"},
        .read_bundle =
            [] {
              return Bundle{.files = {{"yard-node", "#!/bin/sh\n"}, {"lib/a.so", "a"}},
                            .digest = "0123456789abcdef0123"};
            },
        .calls = nodes_.Calls(),
        .say = [](std::string_view) {},
        .stop = stop_.get(),
        .times = times_,
        .between_looks = between_looks_,
        .between_slow_looks = between_looks_,
        .between_calls = between_calls_,
        .to_stop = to_stop_};
    thread_ = std::make_unique<runtime::Thread>(
        "keeper", [this, options] { ended_ = KeepAllocations(options); });
  }
  void Stop() {
    if (thread_ == nullptr) return;
    const std::uint64_t one = 1;
    EXPECT_EQ(write(stop_.get(), &one, sizeof one), static_cast<ssize_t>(sizeof one));
    AwaitEnd();
  }
  void AwaitEnd() {
    EXPECT_TRUE(thread_->Join(kDeadline));
    EXPECT_TRUE(ended_.ok()) << ended_;
    thread_.reset();
  }

  void Await(const std::function<bool()>& is_so, const char* what) const {
    const absl::Time deadline = absl::Now() + kDeadline;
    while (!is_so()) {
      ASSERT_LT(absl::Now(), deadline) << what;
      absl::SleepFor(absl::Milliseconds(5));
    }
  }
  SlurmPoolState Stored(const std::string& pool = "lab") const {
    return files_.ReadState(pool).value_or(SlurmPoolState{});
  }
  SlurmPoolState AwaitPhase(Phase phase, const std::string& pool = "lab") const {
    Await([&] { return Stored(pool).phase == phase; }, NameOfPhase(phase).data());
    return Stored(pool);
  }
  void SetJob(int id, const std::string& state) const {
    const std::string path = absl::StrCat("jobs/", id);
    std::vector<std::string> fields =
        absl::StrSplit(runtime::ReadFile(bin() + "/" + path, 4096).value_or(""), '|');
    ASSERT_EQ(fields.size(), 7u);
    fields[2] = state;
    fields[4] = "node[1-2]";
    fields[5] = "None";
    Put(path, absl::StrJoin(fields, "|"));
  }
  std::string Calls(const std::string& program) const {
    std::string calls;
    for (const auto line : absl::StrSplit(runtime::ReadFile(bin() + "/calls", 1 << 20).value_or(""),
                                          '\n', absl::SkipEmpty())) {
      if (absl::StartsWith(line, program)) absl::StrAppend(&calls, line, "\n");
    }
    return calls;
  }
  std::ptrdiff_t Count(const std::string& program) const {
    const std::string calls = Calls(program);
    return std::count(calls.begin(), calls.end(), '\n');
  }

  const std::string folder_ = TemporaryFolder();
  const SlurmPoolFiles files_{state()};
  FakeNodes nodes_;
  Allocation::Times times_;
  absl::Duration to_stop_ = absl::Seconds(10);
  absl::Duration between_calls_ = absl::Milliseconds(20);
  absl::Duration between_looks_ = absl::Milliseconds(50);
  runtime::UniqueFd stop_;
  std::unique_ptr<runtime::Thread> thread_;
  absl::Status ended_;
};

TEST_F(SlurmKeeperTest, WithoutAPoolItEnds) {
  std::filesystem::create_directories(state());
  Start();
  AwaitEnd();
}

TEST_F(SlurmKeeperTest, APoolIsSubmittedWithItsKeysInTheEnvironmentAlone) {
  Write(Pool());
  Start();
  const SlurmPoolState stored = AwaitPhase(Phase::kWaiting);
  EXPECT_EQ(stored.slurm_id, "17");
  EXPECT_EQ(stored.revision, 1u);
  const std::string words = Calls("sbatch");
  EXPECT_THAT(words, HasSubstr(absl::StrCat("-J ", stored.name, " ")));
  const std::string environment = runtime::ReadFile(bin() + "/env.17", 1 << 20).value_or("");
  EXPECT_THAT(environment, HasSubstr("YARD_NODE_KEY_0="));
  EXPECT_THAT(environment, HasSubstr("YARD_NODE_KEY_1="));
  EXPECT_THAT(environment, HasSubstr("YARD_NODE_GRACE=28\n"));
  EXPECT_THAT(environment, Not(HasSubstr("SLURM_NTASKS")));
  EXPECT_THAT(environment, Not(HasSubstr("SECRET")));
  const std::string script = runtime::ReadFile(bin() + "/script.17", 1 << 20).value_or("");
  EXPECT_THAT(script, HasSubstr(folder_ + "/shared/b-0123456789abcdef"));
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/shared/b-0123456789abcdef/lib/a.so"));
  const auto keys = bus::KeyFolder(state()).Allowed();
  ASSERT_TRUE(keys.ok());
  ASSERT_THAT(*keys, SizeIs(2));
  EXPECT_EQ(keys->front().name, "lab-1-0");
  const std::string key =
      runtime::ReadFile(state() + "/slurm/lab.keys/lab-1-0", 1 << 20).value_or("");
  EXPECT_THAT(key, HasSubstr("secret_key"));
  const auto nodes = nodes_.nodes();
  ASSERT_TRUE(nodes.contains("lab-1-1"));
  EXPECT_EQ(nodes.at("lab-1-1").allocation, stored.name);
  Await([&] { return absl::StrContains(nodes_.nodes().at("lab-1-0").why, "17 waits: Priority"); },
        "the reason");
}

TEST_F(SlurmKeeperTest, ARefusalIsSaidOnceAndLeavesNoKey) {
  Put("refuse", "sbatch: error: invalid partition specified: nope\n");
  Write(Pool());
  Start();
  const SlurmPoolState stored = AwaitPhase(Phase::kRefused);
  EXPECT_EQ(stored.why, "sbatch refuses: invalid partition specified: nope");
  EXPECT_EQ(stored.revision, 1u);
  Await([&] { return !std::filesystem::exists(state() + "/slurm/lab.keys"); }, "no keys");
  EXPECT_EQ(Count("sbatch"), 1);
  // After a change, the keeper tries again.
  Take("refuse");
  SlurmPool pool = Pool();
  pool.revision = 2;
  Write(pool);
  EXPECT_EQ(AwaitPhase(Phase::kWaiting).revision, 2u);
}

TEST_F(SlurmKeeperTest, AnIdThatWasLostIsFound) {
  Put("lose");
  Write(Pool());
  Start();
  EXPECT_EQ(AwaitPhase(Phase::kWaiting).slurm_id, "17");
  EXPECT_EQ(Count("sbatch"), 1);
}

TEST_F(SlurmKeeperTest, ProgramsOfOtherVersionsGoUnlessAnAllocationUsesThem) {
  const auto make_old = [&](const std::string& name) {
    std::string path = folder_ + "/shared/" + name;
    std::filesystem::create_directories(path);
    std::filesystem::last_write_time(
        path, std::filesystem::file_time_type::clock::now() - std::chrono::hours(48));
    return path;
  };
  const std::string old = make_old("b-0000000000000000"), used = make_old("b-1111111111111111");
  Write(Pool());
  SlurmPoolState stored{.revision = 1, .number = 1, .phase = Phase::kWaiting};
  stored.name = "y-lab-1-0a1b2c3d";
  stored.slurm_id = "17";
  stored.asked_revision = stored.tries = 1;
  stored.programs = used;
  ASSERT_TRUE(files_.WriteState("lab", stored).ok());
  Start();
  Await([&] { return !std::filesystem::exists(old); }, "the old one gone");
  EXPECT_TRUE(std::filesystem::exists(used));
  // A requested allocation records its programs.
  Write(Pool("other"));
  EXPECT_EQ(AwaitPhase(Phase::kWaiting, "other").programs, folder_ + "/shared/b-0123456789abcdef");
}

TEST_F(SlurmKeeperTest, APoolForASweepStaysUntilTheSweepIsOver) {
  times_.once_before = times_.once_after = absl::Milliseconds(50);
  SlurmPool pool = Pool();
  pool.once = true;
  pool.sweep = "s-abcde";
  nodes_.SetSweeps({"s-abcde"});
  Write(pool);
  Start();
  AwaitPhase(Phase::kWaiting);
  Await([&, looks = nodes_.looks()] { return nodes_.looks() > looks + 20; }, "looks");
  EXPECT_TRUE(files_.Read("lab").ok());
  nodes_.SetSweeps({});
  AwaitEnd();
  EXPECT_TRUE(absl::IsNotFound(files_.Read("lab").status()));
}

TEST_F(SlurmKeeperTest, AKeeperThatTakesOverSubmitsNothingASecondTime) {
  Write(Pool());
  Put("lose");
  Start();
  AwaitPhase(Phase::kWaiting);
  const SlurmPoolState stored = Stored();
  Stop();
  // As if the first keeper had been killed before it learned the id.
  std::filesystem::remove_all(bin() + "/jobs");
  std::filesystem::create_directory(bin() + "/jobs");
  SlurmPoolState killed = stored;
  killed.phase = Phase::kSubmitting;
  killed.slurm_id.clear();
  Put("jobs/31", absl::StrCat("31|", killed.name, "|RUNNING|1795869532|node1|None|N/A\n"));
  ASSERT_TRUE(files_.WriteState("lab", killed).ok());
  Start();
  EXPECT_EQ(AwaitPhase(Phase::kWaiting).slurm_id, "31");
  EXPECT_EQ(Count("sbatch"), 1);
}

TEST_F(SlurmKeeperTest, AnEndIsToldAndTheNextAllocationAskedFor) {
  Write(Pool());
  Start();
  AwaitPhase(Phase::kWaiting);
  nodes_.Want("lab");
  SetJob(17, "RUNNING");
  nodes_.Connect("lab-1-", true);
  AwaitPhase(Phase::kRunning);
  SetJob(17, "PREEMPTED");
  nodes_.Connect("lab-1-", false);
  Await([&] { return Stored().number == 2 && Stored().phase == Phase::kWaiting; }, "the next");
  EXPECT_THAT(nodes_.whys(), Not(IsEmpty()));
  EXPECT_THAT(nodes_.whys().front(), HasSubstr("PREEMPTED"));
  for (const auto& [name, node] : nodes_.nodes()) EXPECT_THAT(name, StartsWith("lab-2-"));
  const auto keys = bus::KeyFolder(state()).Allowed();
  ASSERT_TRUE(keys.ok());
  for (const auto& key : *keys) EXPECT_THAT(key.name, StartsWith("lab-2-"));
}

TEST_F(SlurmKeeperTest, ADrainRestartsTheTasksThatAreThere) {
  Write(Pool());
  Start();
  AwaitPhase(Phase::kWaiting);
  nodes_.Want("lab");
  nodes_.SetTask("lab-1-0", "j-abcde/worker-0");
  nodes_.Connect("lab-1-", true);
  const std::string name = Stored().name;
  Put("jobs/17", absl::StrCat("17|", name, "|RUNNING|1795869532|node[1-2]|None|",
                              absl::ToUnixSeconds(absl::Now()) + 100, "\n"));
  Await([&] { return !nodes_.restarted().empty(); }, "a restart");
  EXPECT_EQ(nodes_.restarted().front(), "j-abcde/worker-0");
  nodes_.Connect("lab-1-", false);
  Await([&] { return Stored().number == 2; }, "the next");
}

TEST_F(SlurmKeeperTest, HostsThatDoNotSeeTheDirectoryAreSaid) {
  Write(Pool());
  Start();
  AwaitPhase(Phase::kWaiting);
  SetJob(17, "FAILED");
  AwaitPhase(Phase::kIdle);
  EXPECT_THAT(Stored().why, HasSubstr("do not see " + folder_ + "/shared; next: --directory"));
}

TEST_F(SlurmKeeperTest, APoolThatIsRemovedLeavesNothingAndTheKeeperEnds) {
  Write(Pool());
  Start();
  AwaitPhase(Phase::kWaiting);
  SlurmPool pool = Pool();
  pool.revision = 2;
  pool.removing = true;
  Write(pool);
  AwaitEnd();
  EXPECT_THAT(Calls("scancel"), HasSubstr("-n y-lab-1-"));
  EXPECT_THAT(nodes_.nodes(), IsEmpty());
  EXPECT_THAT(*bus::KeyFolder(state()).Allowed(), IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(state() + "/slurm/lab.json"));
  EXPECT_FALSE(std::filesystem::exists(state() + "/slurm/lab.state.json"));
  EXPECT_FALSE(std::filesystem::exists(state() + "/slurm/lab.keys"));
}

TEST_F(SlurmKeeperTest, AStopCancelsAndTheNextKeeperBeginsAgain) {
  Write(Pool());
  Start();
  AwaitPhase(Phase::kWaiting);
  Stop();
  EXPECT_EQ(Count("scancel"), 1);
  EXPECT_EQ(Stored().phase, Phase::kIdle);
  Start();
  Await([&] { return Stored().number == 2 && Stored().phase == Phase::kWaiting; }, "the next");
}

TEST_F(SlurmKeeperTest, AStopWithoutSlurmEndsInTimeAndTheNextKeeperCancels) {
  to_stop_ = absl::Seconds(1);
  Write(Pool());
  Start();
  AwaitPhase(Phase::kWaiting);
  Put("down");
  Stop();
  EXPECT_EQ(Stored().phase, Phase::kEnded);
  Take("down");
  const auto before = Count("scancel");
  Start();
  Await([&] { return Count("scancel") > before; }, "scancel");
  Await([&] { return Stored().number == 2; }, "the next");
}

TEST_F(SlurmKeeperTest, AFailingSqueueIsShownAndEndsNothing) {
  Write(Pool());
  Start();
  AwaitPhase(Phase::kWaiting);
  Put("down");
  Await([&] { return absl::StrContains(Stored().why, "slurmctld does not say"); }, "the words");
  const auto before = Count("squeue");
  Await([&] { return Count("squeue") > before + 10; }, "ten more");
  EXPECT_EQ(Stored().phase, Phase::kWaiting);
  Take("down");
  Await([&] { return absl::StrContains(Stored().why, "17 waits: Priority"); }, "the words");
}

TEST_F(SlurmKeeperTest, ADamagedFileIsLeftAloneAndOthersAreKept) {
  Write(Pool());
  Write(Pool("other"));
  Put("../state/slurm/bad.json", "{\"pool\": 1}");
  Put("../state/slurm/other.state.json", "[");
  Start();
  AwaitPhase(Phase::kWaiting);
  EXPECT_EQ(Count("sbatch"), 1);
}

TEST_F(SlurmKeeperTest, ASecondKeeperDoesNotRun) {
  Write(Pool());
  Start();
  AwaitPhase(Phase::kWaiting);
  EXPECT_TRUE(absl::IsAlreadyExists(KeepAllocations({.state_directory = state()})));
}

// Processor time of this process and of its child processes.
absl::Duration ProcessorTime() {
  absl::Duration time;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage = {};
    getrusage(who, &usage);
    time += absl::DurationFromTimeval(usage.ru_utime) + absl::DurationFromTimeval(usage.ru_stime);
  }
  return time;
}

TEST_F(SlurmKeeperTest, ManyPoolsCostOneSqueueALook) {
  constexpr int kPools = 200;
  between_looks_ = absl::Seconds(1);
  between_calls_ = absl::Seconds(3);
  std::string jobs;
  for (int i = 0; i < kPools; ++i) {
    SlurmPool pool = Pool(absl::StrCat("p", i));
    pool.nodes = 1;
    Write(pool);
    SlurmPoolState stored{.revision = 1, .number = 1, .phase = Phase::kWaiting};
    stored.name = absl::StrCat("y-p", i, "-1-0a1b2c3d");
    stored.slurm_id = absl::StrCat(100 + i);
    stored.asked_revision = stored.tries = 1;
    ASSERT_TRUE(files_.WriteState(pool.pool, stored).ok());
    absl::StrAppend(&jobs, 100 + i, "|", stored.name, "|PENDING|1795869532||Priority|N/A\n");
  }
  Put("jobs/all", jobs);
  Start();
  Await([&] { return absl::StrContains(nodes_.nodes()["p199-1-0"].why, "Priority"); }, "the last");
  Await([&, looks = Count("squeue")] { return Count("squeue") >= looks + 2; }, "quiet");
  const auto looks = Count("squeue");
  const absl::Time begin = absl::Now();
  const absl::Duration used = ProcessorTime();
  Await(
      [&] {
        absl::SleepFor(absl::Milliseconds(100));
        return Count("squeue") >= looks + 4;
      },
      "four looks");
  const absl::Duration passed = absl::Now() - begin;
  // Jitter only lengthens the interval.
  EXPECT_GE(passed, absl::Seconds(3));
  // The interval is a tenth of the default, so the load is ten times higher.
  EXPECT_LT(ProcessorTime() - used, passed / 10);
  std::cerr << "200 pools: " << ProcessorTime() - used << " in " << passed << "\n";
}

}  // namespace
}  // namespace yard
