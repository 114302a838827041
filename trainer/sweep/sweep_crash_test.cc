// Kills the trainer at every named point of a sweep's life, for each method and rule: in the end
// the sweep must have the same trials, configurations, verdicts and events as one without kills.

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/file/file.h"
#include "runtime/file/locations.h"
#include "runtime/file/unique_fd.h"
#include "runtime/process/subprocess.h"

namespace trainer {
namespace {

constexpr int kMostKills = 3;
int runs = 0;

// Pairs of a point and the occurrence of it at which to kill.
const std::vector<std::pair<std::string, int>>& Points() {
  static const std::vector<std::pair<std::string, int>> points = {
      {"sweep inserted", 1},       {"sweep asks", 3},     {"sweep event stored", 7},
      {"sweep trial inserted", 2}, {"sweep finished", 1}, {"before commit", 5},
      {"after commit", 4},         {"after files", 6},    {"before launch", 2},
      {"after launch", 3},         {"after end", 2},      {"sweep optimiser stored", 1}};
  return points;
}

// Returns true if a sweep with this method passes the point.
bool IsOnTheWay(const std::string& point, const std::string& method) {
  if (point == "sweep optimiser stored") return method == "external";
  return method != "external" || point != "sweep asks";
}

std::string PlanOf(const std::string& method, const std::string& rule) {
  const bool has_two = absl::StrContains(rule, "metrics");
  return absl::StrCat(
      R"({"method":")", method, R"(",)", has_two ? "" : R"("metric":{"name":"loss"},)",
      R"("run_cap":14,)", method == "pbt" ? R"("parallel":3,)" : R"("parallel":1,)", R"("seed":5,)",
      rule, R"("parameters":{"x":{"values":[0.0,0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9],)",
      R"("ordered":true},"y":{"values":["a","b"]}}})");
}

class SweepCrashTest : public testing::TestWithParam<std::pair<const char*, const char*>> {
 protected:
  ~SweepCrashTest() override {
    for (const std::string& directory : directories_) std::filesystem::remove_all(directory);
  }
  std::string NewDirectory() {
    char name[] = "/tmp/sc-XXXXXX";
    directories_.emplace_back(mkdtemp(name));
    return directories_.back();
  }
  // Returns the program's output; empty if it was killed.
  static std::string Run(const std::string& directory, const std::string& point, int count,
                         const std::string& plan);

  std::vector<std::string> directories_;
};

std::string SweepCrashTest::Run(const std::string& directory, const std::string& point, int count,
                                const std::string& plan) {
  const auto program = runtime::FindBinary("trainer/testing/crashing_sweep");
  EXPECT_TRUE(program.ok()) << program.status();
  const std::string path = absl::StrCat(directory, "/output-", ++runs);
  {
    const runtime::UniqueFd output(
        open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    runtime::Subprocess::Options options;
    options.argv = {*program, directory, point, absl::StrCat(count), plan};
    options.fds = {{output.get(), 1}, {2, 2}};
    auto child = runtime::Subprocess::Start(options);
    EXPECT_TRUE(child.ok()) << child.status();
    const auto status = child->Wait(absl::Seconds(60));
    EXPECT_TRUE(status.ok()) << "it does not end";
    if (!status.ok()) (void)child->Signal(SIGKILL);
    if (status.ok() && status->signal == SIGKILL) return "";
    EXPECT_TRUE(status.ok() && status->ok()) << status->ToString();
  }
  return runtime::ReadFile(path, 16 << 20).value_or("");
}

TEST_P(SweepCrashTest, EndsAsIfNobodyHadKilledIt) {
  const auto& [method, rule] = GetParam();
  const std::string plan = PlanOf(method, rule);
  const std::string whole = Run(NewDirectory(), "", 0, plan);
  ASSERT_FALSE(whole.empty());
  // (Programs of a population save checkpoints; members that were taken over keep none.)
  EXPECT_EQ(absl::StrContains(whole, "checkpoints "), std::string(method) == "pbt");
  for (const auto& [point, count] : Points()) {
    if (!IsOnTheWay(point, method)) continue;
    const std::string directory = NewDirectory();
    int kills = 0;
    std::string output;
    while (output.empty() && kills < kMostKills) {
      output = Run(directory, point, count, plan);
      kills += output.empty() ? 1 : 0;
    }
    EXPECT_GT(kills, 0) << point << " was not reached";
    if (output.empty()) output = Run(directory, "", 0, plan);
    EXPECT_EQ(output, whole) << "killed at " << point;
  }
}

class CrashedSamplerTest : public SweepCrashTest {};

// As if the sampler crashed the trainer each time it is asked.
TEST_F(CrashedSamplerTest, ASamplerThatEndsTheTrainerThreeTimesFailsTheSweep) {
  const std::string directory = NewDirectory();
  const std::string plan = PlanOf("tpe", "");
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Run(directory, "sweep asks", 1, plan), "") << i;
  }
  const std::string output = Run(directory, "sweep asks", 1, plan);
  EXPECT_THAT(output, testing::HasSubstr("its sampler has ended the trainer 3 times at trial 0"));
}

constexpr char kAsha[] = R"("early_terminate":{"type":"asha","min":1,"max":6,"eta":2},)";
constexpr char kPromote[] =
    R"("early_terminate":{"type":"asha","min":1,"max":6,"eta":2,"promote":true},)";
constexpr char kHyperband[] = R"("early_terminate":{"type":"sync_hyperband","max":6,"eta":3},)";
constexpr char kMetrics[] = R"("metrics":[{"name":"loss"},{"name":"cost"}],)";
constexpr char kMetricsAndAsha[] = R"("metrics":[{"name":"loss"},{"name":"cost"}],)"
                                   R"("early_terminate":{"type":"asha","min":1,"max":6,"eta":2},)";
constexpr char kConstraint[] = R"("constraints":["cost <= 0.5"],)";
constexpr char kMedian[] = R"("early_terminate":{"type":"median","min_trials":2,"warmup":1},)";

constexpr char kPopulation[] = R"("population":{"members":3,"interval":2,"quantile":0.34},)";
constexpr char kOptimiser[] = R"("external":{"command":["optimiser"]},)";
constexpr char kOptimiserAndAsha[] =
    R"("external":{"command":["optimiser"]},)"
    R"("early_terminate":{"type":"asha","min":1,"max":6,"eta":2},)";

INSTANTIATE_TEST_SUITE_P(
    MethodsAndRules, SweepCrashTest,
    testing::Values(std::pair("random", ""), std::pair("grid", ""), std::pair("sobol", ""),
                    std::pair("tpe", ""), std::pair("gp", ""), std::pair("cmaes", ""),
                    std::pair("tpe", kMetrics), std::pair("gp", kMetrics),
                    std::pair("tpe", kMetricsAndAsha), std::pair("bayes", kConstraint),
                    std::pair("random", kHyperband), std::pair("random", kAsha),
                    std::pair("tpe", kPromote), std::pair("random", kMedian),
                    std::pair("pbt", kPopulation), std::pair("external", kOptimiser),
                    std::pair("external", kOptimiserAndAsha)));

}  // namespace
}  // namespace trainer
