// kill -9 of each process of the yard while training is under way.

#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
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
#include "runtime/process_identity.h"
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
                         testing::Values("registry", "launcher", "datamanager", "trainer"),
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

// What a listener has heard: the rows of trials, the steps of a tag, the lines of tasks.
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

}  // namespace
}  // namespace tests
