// kill -9 of each process of the yard while training is under way.

#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "runtime/file/file.h"
#include "runtime/process/process_identity.h"
#include "tests/yard_fixture.h"

namespace tests {
namespace {

using ::testing::HasSubstr;

constexpr int kEpochs = 30;

std::vector<std::string> Digits(const std::vector<std::string>& yard_args, int epoch_ms) {
  std::vector<std::string> args = {"run"};
  args.insert(args.end(), yard_args.begin(), yard_args.end());
  for (const std::string& word :
       {std::string("--"), Yard::Binary("examples/digits/digits"), std::string("--seed=7"),
        Yard::DigitsData(), absl::StrCat("--epochs=", kEpochs),
        absl::StrCat("--min_epoch_ms=", epoch_ms)}) {
    args.push_back(word);
  }
  return args;
}

// The lines of a run's result.json.
std::vector<nlohmann::json> Results(const Yard& yard, const std::string& run) {
  std::vector<nlohmann::json> results;
  std::ifstream file(yard.logdir() + "/" + run + "/result.json");
  for (std::string line; std::getline(file, line);) {
    results.push_back(nlohmann::json::parse(line, nullptr, false));
  }
  return results;
}

void ExpectEveryReportOnce(const Yard& yard, const std::string& run,
                           std::size_t reports = kEpochs) {
  const auto results = Results(yard, run);
  ASSERT_EQ(results.size(), reports) << run;
  for (std::size_t i = 0; i < reports; ++i) {
    ASSERT_TRUE(results[i].is_object()) << "line " << i + 1 << " of " << run;
    EXPECT_EQ(results[i].value("training_iteration", 0u), i + 1) << run;
  }
}

pid_t ProgramOf(const std::string& run) {
  const auto pids = ProcessesWithEnvironment("YARD_TRIAL_NAME=" + run);
  return pids.empty() ? 0 : pids.front();
}

pid_t ParentOf(pid_t pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/status"));
  for (std::string line; std::getline(file, line);) {
    if (absl::StartsWith(line, "PPid:")) return std::atoi(line.c_str() + 5);
  }
  return 0;
}

// The JSON that `yard show` prints of a trial or a job.
nlohmann::json Shown(Yard& yard, const std::string& name) {
  const std::string out = yard.Run({"show", name, "--json"}).out;
  auto shown = nlohmann::json::parse(out.substr(0, out.find('\n')), nullptr, false);
  return shown.is_object() ? shown : nlohmann::json::object();
}

bool AllServicesUp(Yard& yard) {
  const auto status = yard.Status();
  for (const char* service : {"registry", "launcher", "datamanager", "trainer"}) {
    const auto found = status.find(service);
    if (found == status.end() || found->second.value("state", "") != "up") return false;
  }
  return true;
}

class KillTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(yard_.Run({"up", "--logdir", yard_.logdir()}).exit_code, 0); }
  Yard yard_;
};

class KillServiceTest : public KillTest, public testing::WithParamInterface<const char*> {};

TEST_P(KillServiceTest, TheRunGoesOnToTheSameResult) {
  const std::string service = GetParam();
  ASSERT_EQ(yard_.Run(Digits({"--name", "quiet"}, 0)).exit_code, 0);
  ASSERT_EQ(yard_.Run(Digits({"--name", "hit", "--detach"}, 60)).exit_code, 0);
  ASSERT_TRUE(Yard::Eventually([&] { return Results(yard_, "hit").size() >= 3; }));

  ASSERT_TRUE(yard_.Kill(service));
  const CommandResult status = yard_.Run({"status"});
  EXPECT_LT(status.took, absl::Seconds(10));
  if (service == "launcher") {
    EXPECT_THAT(status.err, HasSubstr("launcher"));
  }
  EXPECT_TRUE(Yard::Eventually([&] { return AllServicesUp(yard_); }));

  const CommandResult wait = yard_.Run({"wait", "hit"});
  EXPECT_EQ(wait.exit_code, 0) << wait.err;
  ExpectEveryReportOnce(yard_, "hit");
  const auto quiet = Results(yard_, "quiet"), hit = Results(yard_, "hit");
  ASSERT_FALSE(quiet.empty());
  ASSERT_FALSE(hit.empty());
  EXPECT_EQ(hit.back().value("accuracy", -1.0), quiet.back().value("accuracy", -2.0));
  EXPECT_EQ(hit.back().value("loss", -1.0), quiet.back().value("loss", -2.0));
}

INSTANTIATE_TEST_SUITE_P(Each, KillServiceTest,
                         testing::Values("registry", "launcher", "datamanager", "trainer", "web"),
                         [](const auto& info) { return std::string(info.param); });

TEST_F(KillTest, KillingTheShimEndsItsAttemptWithinASecond) {
  ASSERT_EQ(yard_.Run(Digits({"--name", "cut", "--detach"}, 200)).exit_code, 0);
  ASSERT_TRUE(Yard::Eventually([&] { return Results(yard_, "cut").size() >= 2; }));
  const pid_t program = ProgramOf("cut");
  ASSERT_GT(program, 0);
  const pid_t shim = ParentOf(program);
  ASSERT_GT(shim, 1);

  const absl::Time killed = absl::Now();
  ASSERT_EQ(kill(shim, SIGKILL), 0);
  const CommandResult wait = yard_.Run({"wait", "cut"}, absl::Seconds(10));
  EXPECT_LT(absl::Now() - killed, absl::Seconds(1.5));
  EXPECT_EQ(wait.exit_code, 1) << wait.err;
  EXPECT_EQ(ProgramOf("cut"), 0) << "a process of the attempt is left";
  const CommandResult show = yard_.Run({"show", "cut"});
  EXPECT_THAT(show.out, HasSubstr("failed"));
  EXPECT_THAT(show.out, HasSubstr("shim was killed"));
}

// The events that a listener has heard: the rows of trials, the steps of a tag, the lines of tasks.
struct Heard {
  std::vector<int> rows;
  std::vector<std::int64_t> steps;
  std::vector<std::string> lines;
  std::vector<std::string> lost;
};

Heard ReadHeard(const std::string& text, const std::string& tag) {
  Heard heard;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const auto event = nlohmann::json::parse(line.begin(), line.end(), nullptr, false);
    if (event.is_discarded()) continue;  // It was being written.
    if (event.contains("lost")) {
      heard.lost.emplace_back(line);
      continue;
    }
    const nlohmann::json& body = event["body"];
    const std::string type = event.value("type", "");
    if (type == "TrialEvent" && body.contains("row")) heard.rows.push_back(body["row"]["row"]);
    if (type == "Points" && body.value("tag", "") == tag) {
      for (const auto& step : body["steps"]) heard.steps.push_back(step);
    }
    if (type == "LogLines" && body.contains("lines")) {
      for (const auto& log : body["lines"]) heard.lines.push_back(log);
    }
  }
  return heard;
}

// Reports and prints ten times a second until there is a file "enough", so that it outlasts every
// kill, however slow the machine is.
constexpr char kEndless[] = R"sh(i=0
while [ ! -e enough ]; do
  i=$((i + 1))
  printf '{"t":"report","m":{"loss":%s},"step":%s}\n' "$i" "$i" >&3
  read -r reply <&3 || exit 1
  echo "line $i"
  sleep 0.1
done
echo the end
)sh";

TEST_F(KillTest, AnAttachedRunAndAListenerFollowThroughEveryKill) {
  Command sub = yard_.Start({"sub", "t/", "m/", "l/", "--json"});
  ASSERT_TRUE(Yard::Eventually([&] { return sub.Err().find("listening") != std::string::npos; }));
  Command run = yard_.Start({"run", "--name", "attached", "--", "/bin/sh", "-c", kEndless});
  std::size_t seen = 2;
  for (const char* service : {"registry", "datamanager", "trainer", "launcher"}) {
    ASSERT_TRUE(Yard::Eventually([&] { return Results(yard_, "attached").size() >= seen; }))
        << service << run.Err();
    ASSERT_TRUE(yard_.Kill(service)) << service;
    if (std::string(service) == "launcher") (void)yard_.Run({"status"});
    ASSERT_TRUE(Yard::Eventually([&] { return AllServicesUp(yard_); })) << service;
    seen = Results(yard_, "attached").size() + 2;
  }
  std::ofstream(yard_.directory() + "/enough") << "";
  const CommandResult result = run.Wait(absl::Seconds(60));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const std::size_t reports = Results(yard_, "attached").size();
  ExpectEveryReportOnce(yard_, "attached", reports);
  std::string lines;
  for (std::size_t i = 1; i <= reports; ++i) absl::StrAppend(&lines, "line ", i, "\n");
  EXPECT_EQ(result.out, lines + "the end\n");

  // The listener has missed nothing: each once, in order.
  std::vector<int> rows(reports);
  std::iota(rows.begin(), rows.end(), 1);
  EXPECT_TRUE(Yard::Eventually([&] {
    const Heard heard = ReadHeard(sub.Out(), "loss");
    return heard.rows.size() >= rows.size() && heard.steps.size() >= rows.size() &&
           heard.lines.size() > rows.size();
  }));
  const Heard heard = ReadHeard(sub.Out(), "loss");
  EXPECT_EQ(heard.rows, rows);
  EXPECT_EQ(heard.steps, std::vector<std::int64_t>(rows.begin(), rows.end()));
  EXPECT_THAT(heard.lost, testing::IsEmpty());
  EXPECT_EQ(absl::StrJoin(heard.lines, "\n") + "\n", result.out);
}

TEST_F(KillTest, DownStopsWhatRunsAlsoWithoutALauncher) {
  ASSERT_EQ(yard_.Run(Digits({"--name", "left", "--detach"}, 2000)).exit_code, 0);
  ASSERT_TRUE(Yard::Eventually([&] { return ProgramOf("left") > 0; }));
  for (const char* service : {"launcher", "trainer"}) ASSERT_TRUE(yard_.Kill(service)) << service;
  const CommandResult down = yard_.Run({"down"});
  EXPECT_EQ(down.exit_code, 0) << down.err;
  EXPECT_EQ(ProgramOf("left"), 0);
  EXPECT_EQ(yard_.PidOf("launcher"), 0);
}

TEST_F(KillTest, EverythingKilledAtOnceComesBackWithTheNextCommand) {
  ASSERT_EQ(yard_.Run(Digits({"--name", "storm", "--detach"}, 60)).exit_code, 0);
  ASSERT_TRUE(Yard::Eventually([&] { return Results(yard_, "storm").size() >= 3; }));
  for (const char* service : {"launcher", "registry", "trainer", "datamanager"}) {
    ASSERT_TRUE(yard_.Kill(service)) << service;
  }
  (void)yard_.Run({"status"});
  EXPECT_TRUE(Yard::Eventually([&] { return AllServicesUp(yard_); }));
  EXPECT_EQ(yard_.Run({"wait", "storm"}).exit_code, 0);
  ExpectEveryReportOnce(yard_, "storm");
}

class AttachedKillTest : public KillTest, public testing::WithParamInterface<int> {};

TEST_P(AttachedKillTest, TheTrialOfAnAttachedRunGoesOn) {
  Command run = yard_.Start({"run", "--name", "left", "--", "/bin/sh", "-c", kEndless});
  ASSERT_TRUE(Yard::Eventually([&] { return Results(yard_, "left").size() >= 2; })) << run.Err();
  ASSERT_TRUE(run.process().Signal(GetParam()).ok());
  EXPECT_EQ(run.Wait(absl::Seconds(10)).exit_code, 128 + GetParam());
  const std::size_t seen = Results(yard_, "left").size();
  EXPECT_TRUE(Yard::Eventually([&] { return Results(yard_, "left").size() >= seen + 3; }));
  std::ofstream(yard_.directory() + "/enough") << "";
  const CommandResult wait = yard_.Run({"wait", "left"});
  EXPECT_EQ(wait.exit_code, 0) << wait.err;
  ExpectEveryReportOnce(yard_, "left", Results(yard_, "left").size());
  EXPECT_THAT(yard_.Run({"logs", "left"}).out, HasSubstr("the end"));
}

TEST_P(AttachedKillTest, TheJobOfAnAttachedLaunchGoesOn) {
  Command launch = yard_.Start({"launch", "--name", "left", "--", "/bin/sh", "-c",
                                "echo begun; until [ -e enough ]; do sleep 0.05; done; echo end"});
  ASSERT_TRUE(Yard::Eventually([&] { return absl::StrContains(launch.Out(), "begun"); }))
      << launch.Err();
  ASSERT_TRUE(launch.process().Signal(GetParam()).ok());
  EXPECT_EQ(launch.Wait(absl::Seconds(10)).exit_code, 128 + GetParam());
  EXPECT_EQ(Shown(yard_, "left").value("state", ""), "running");
  std::ofstream(yard_.directory() + "/enough") << "";
  const CommandResult wait = yard_.Run({"wait", "left"});
  EXPECT_EQ(wait.exit_code, 0) << wait.err;
  EXPECT_THAT(yard_.Run({"logs", "left"}).out, HasSubstr("end"));
}

INSTANTIATE_TEST_SUITE_P(Each, AttachedKillTest, testing::Values(SIGKILL, SIGHUP),
                         [](const auto& info) {
                           return std::string(info.param == SIGHUP ? "HangUp" : "Kill");
                         });

// counts.sh RUN EVERY: counts on from its newest checkpoint until there is a file "enough", and
// keeps every EVERYth number, if that is not 0. RUN.acknowledged has "ATTEMPT N" of each report
// that was answered, RUN.kept each checkpoint that was.
constexpr char kCounts[] = R"sh(run=$1 every=$2 n=0
[ -n "$YARD_CHECKPOINT" ] && n=$(cat "$YARD_CHECKPOINT/n")
ask() { printf '%s\n' "$1" >&3; read -r reply <&3 || exit 9; }
while [ ! -e enough ]; do
  n=$((n + 1))
  ask "{\"t\":\"report\",\"m\":{\"n\":$n,\"of\":$YARD_ATTEMPT}}"
  echo "$YARD_ATTEMPT $n" >> "$run.acknowledged"
  if [ "$every" != 0 ] && [ $((n % every)) = 0 ]; then
    ask "{\"t\":\"ckpt_begin\",\"step\":$n}"
    directory=${reply#*\"path\":\"}
    directory=${directory%%\"*}
    echo "$n" > "$directory/n" || exit 8
    ask "{\"t\":\"ckpt_end\",\"path\":\"$directory\"}"
    echo "$n" >> "$run.kept"
  fi
  sleep 0.05
done
)sh";

// The whole lines of a file.
std::vector<std::string> Lines(const std::string& path) {
  const std::string text = runtime::ReadFile(path, 1 << 20).value_or("");
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  lines.pop_back();
  return lines;
}

// The processes of a yard by what their command line or their environment says: a shim has cleaned
// its environment.
std::vector<pid_t> ProcessesOf(const Yard& yard) {
  std::vector<pid_t> pids = ProcessesWithEnvironment("YARD_STATE=" + yard.state());
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    const auto line = runtime::ReadFile(entry.path() / "cmdline", 1 << 20);
    if (pid > 0 && line.ok() && absl::StrContains(*line, yard.state() + "/jobs/")) {
      pids.push_back(pid);
    }
  }
  return pids;
}

// Trials and jobs over the end of services and shims.
class MachineTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(yard_.Run({"up", "--logdir", yard_.logdir(), "--slots", "3"}).exit_code, 0);
  }
  void StartWork() {
    std::ofstream(yard_.directory() + "/counts.sh") << kCounts;
    Detach({"run", "--name", "kept", "--max_restarts", "1", "--", "/bin/sh", "counts.sh", "kept",
            "5"});
    Detach({"run", "--name", "anew", "--max_restarts", "1", "--", "/bin/sh", "counts.sh", "anew",
            "0"});
    Detach({"run", "--name", "once", "--", "/bin/sh", "counts.sh", "once", "5"});
    Detach({"launch", "--name", "again", "--restart", "on-failure", "--max_restarts", "1", "--",
            "/bin/sleep", "1000"});
    Detach({"launch", "--name", "over", "--", "/bin/sleep", "1000"});
    ASSERT_TRUE(Yard::Eventually([&] {
      return Lines(yard_.directory() + "/kept.kept").size() >= 2 &&
             Results(yard_, "anew").size() >= 3 && Results(yard_, "once").size() >= 3 &&
             State("again") == "running" && State("over") == "running";
    }));
  }
  // Stops the processes of the yard before it kills them, so that none sees the end of another.
  void KillAtOnce() {
    std::set<pid_t> victims;
    for (bool more = true; more;) {
      more = false;
      for (const pid_t pid : ProcessesOf(yard_)) {
        if (kill(pid, SIGSTOP) == 0) more |= victims.insert(pid).second;
      }
    }
    EXPECT_GE(victims.size(), 14u) << "four services, five shims and five programs at least";
    for (const pid_t pid : victims) kill(pid, SIGKILL);
    ASSERT_TRUE(Yard::Eventually([&] { return ProcessesOf(yard_).empty() && NoLockIsHeld(); }));
  }
  // Each attempt of StartWork's is over, what may be started again is, and no report is lost.
  void ExpectWorkGoesOn() {
    EXPECT_TRUE(Yard::Eventually([&] { return AllServicesUp(yard_); }));
    EXPECT_TRUE(Yard::Eventually([&] { return State("once") == "failed"; }));
    EXPECT_TRUE(Yard::Eventually([&] { return State("over") == "lost"; }));
    EXPECT_TRUE(Yard::Eventually([&] {
      return State("again") == "running" && Shown(yard_, "again").value("restarts", 0) == 1;
    }));
    for (const std::string run : {"kept", "anew"}) {
      EXPECT_TRUE(Yard::Eventually([&] { return FirstOf(run, 2) != 0; })) << run;
    }
    EXPECT_EQ(FirstOf("anew", 2), 1);
    const int kept = LastKeptByAttempt1();
    EXPECT_THAT(FirstOf("kept", 2), testing::AnyOf(kept + 1, kept + 6))
        << "the newest checkpoint may be one whose answer came too late";
    std::ofstream(yard_.directory() + "/enough") << "";
    for (const std::string run : {"kept", "anew"}) {
      EXPECT_EQ(yard_.Run({"wait", run}).exit_code, 0) << run;
    }
    for (const std::string run : {"kept", "anew", "once"}) ExpectNothingLost(run);
  }
  std::string State(const std::string& name) { return Shown(yard_, name).value("state", ""); }
  // While one is held, the next service of the same state exits.
  bool NoLockIsHeld() {
    for (const char* service : {"registry", "launcher", "datamanager", "trainer"}) {
      if (runtime::LockHolder(absl::StrCat(yard_.state(), "/", service, ".lock")).value_or(0) != 0)
        return false;
    }
    return true;
  }

  Yard yard_;

 private:
  void Detach(std::vector<std::string> args) {
    args.insert(args.begin() + 1, "--detach");
    const CommandResult result = yard_.Run(args);
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }
  // The first number that an attempt has reported; 0: none.
  int FirstOf(const std::string& run, int attempt) {
    for (const auto& row : Results(yard_, run)) {
      if (row.is_object() && row.value("of", 0) == attempt) return row.value("n", 0);
    }
    return 0;
  }
  int LastKeptByAttempt1() {
    int last = 0;
    for (const std::string& line : Lines(yard_.directory() + "/kept.kept")) {
      const int n = std::atoi(line.c_str());
      if (n >= FirstOf("kept", 2)) break;
      last = n;
    }
    return last;
  }
  // Each acknowledged report is stored, and none twice.
  void ExpectNothingLost(const std::string& run) {
    std::vector<std::string> stored;
    for (const auto& row : Results(yard_, run)) {
      ASSERT_TRUE(row.is_object()) << run;
      stored.push_back(absl::StrCat(row.value("of", 0), " ", row.value("n", 0)));
    }
    EXPECT_THAT(stored,
                testing::IsSupersetOf(Lines(yard_.directory() + "/" + run + ".acknowledged")))
        << run;
    EXPECT_EQ(std::set<std::string>(stored.begin(), stored.end()).size(), stored.size()) << run;
  }
};

TEST_F(MachineTest, AllKilledAtOnceWithItsShimsGoesOnWithTheNextCommand) {
  ASSERT_NO_FATAL_FAILURE(StartWork());
  ASSERT_NO_FATAL_FAILURE(KillAtOnce());
  (void)yard_.Run({"status"});
  ExpectWorkGoesOn();
}

TEST_F(MachineTest, AfterARebootUpGoesOnWithWhatWasWanted) {
  ASSERT_NO_FATAL_FAILURE(StartWork());
  ASSERT_NO_FATAL_FAILURE(KillAtOnce());
  std::filesystem::remove_all(yard_.runtime_directory());
  const CommandResult up = yard_.Run({"up"});
  EXPECT_EQ(up.exit_code, 0) << up.err;
  EXPECT_THAT(up.out, HasSubstr("runs in " + yard_.logdir()));
  ExpectWorkGoesOn();
}

TEST_F(MachineTest, ARuntimeDirectoryThatIsRemovedIsMadeAnewAndProgramsGoOnReporting) {
  ASSERT_NO_FATAL_FAILURE(StartWork());
  std::filesystem::remove_all(yard_.runtime_directory());
  const std::size_t seen = Results(yard_, "kept").size();
  EXPECT_TRUE(Yard::Eventually([&] { return Results(yard_, "kept").size() >= seen + 3; }));
  const CommandResult up = yard_.Run({"up"});
  EXPECT_EQ(up.exit_code, 0) << up.err;
  // The sockets of shims are not made anew: a new launcher starts their tasks again.
  const CommandResult doctor = yard_.Run({"doctor"});
  EXPECT_THAT(doctor.out, HasSubstr("whose control socket is gone"));
  EXPECT_THAT(doctor.out, HasSubstr("kill "));
  for (const char* service : {"launcher", "trainer", "datamanager", "registry"}) {
    const auto holder = runtime::LockHolder(absl::StrCat(yard_.state(), "/", service, ".lock"));
    ASSERT_TRUE(holder.ok() && *holder > 0) << service;
    EXPECT_THAT(doctor.out, HasSubstr(absl::StrCat(*holder)));
    EXPECT_THAT(kill(*holder, SIGTERM), 0);
  }
  ASSERT_TRUE(Yard::Eventually([&] { return NoLockIsHeld(); }));
  (void)yard_.Run({"status"});
  ExpectWorkGoesOn();
}

}  // namespace
}  // namespace tests
