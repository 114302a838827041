// Many kills in a random order while several runs report: the long version of kill_test.

#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/yard_fixture.h"

namespace tests {
namespace {

constexpr int kRuns = 4;
constexpr int kReports = 400;
constexpr int kKills = 60;

std::vector<int> Iterations(const Yard& yard, const std::string& run) {
  std::vector<int> iterations;
  std::ifstream file(yard.logdir() + "/" + run + "/result.json");
  for (std::string line; std::getline(file, line);) {
    const auto result = nlohmann::json::parse(line, nullptr, false);
    iterations.push_back(result.is_object() ? result.value("training_iteration", -1) : -1);
  }
  return iterations;
}

TEST(StormTest, NoReportIsLostOrCountedTwiceInManyKills) {
  Yard yard;
  ASSERT_EQ(yard.Run({"up", "--logdir", yard.logdir()}).exit_code, 0);
  const std::string program = absl::StrCat(
      "i=0; while [ $i -lt ", kReports,
      " ]; do i=$((i + 1)); echo \"{\\\"t\\\":\\\"report\\\",\\\"m\\\":{\\\"i\\\":$i}}\" >&3; "
      "read -r r <&3 || exit 7; case $r in *'\"ok\"'*) ;; *) exit 8 ;; esac; sleep 0.02; done");
  for (int i = 0; i < kRuns; ++i) {
    ASSERT_EQ(yard.Run({"run", "--detach", "--name", absl::StrCat("r", i), "--", "/bin/sh", "-c",
                        program})
                  .exit_code,
              0);
  }
  const std::vector<std::string> services = {"registry", "launcher", "datamanager", "trainer"};
  std::mt19937 random(11);
  int kills = 0;
  for (int i = 0; i < kKills; ++i) {
    if (yard.Kill(services[random() % services.size()])) ++kills;
    const CommandResult status = yard.Run({"status"});
    ASSERT_LT(status.took, absl::Seconds(15));
  }
  EXPECT_GT(kills, kKills / 2);
  for (int i = 0; i < kRuns; ++i) {
    const std::string run = absl::StrCat("r", i);
    const CommandResult wait = yard.Run({"wait", run}, absl::Minutes(2));
    EXPECT_EQ(wait.exit_code, 0) << wait.out << wait.err;
    const std::vector<int> iterations = Iterations(yard, run);
    ASSERT_EQ(iterations.size(), static_cast<std::size_t>(kReports)) << run;
    for (int k = 0; k < kReports; ++k) ASSERT_EQ(iterations[k], k + 1) << run;
  }
}

// As many runs as fit at once, each as fast as it can.
TEST(StormTest, FiftyRunsAtOnceAllReportEverything) {
  Yard yard;
  ASSERT_EQ(yard.Run({"up", "--logdir", yard.logdir()}).exit_code, 0);
  const std::string program =
      "i=0; while [ $i -lt 200 ]; do i=$((i + 1)); "
      "echo '{\"t\":\"report\",\"m\":{\"x\":1}}' >&3; read -r r <&3; done";
  std::vector<std::string> wait = {"wait"};
  for (int i = 0; i < 50; ++i) {
    const std::string name = absl::StrCat("load-", i);
    ASSERT_EQ(
        yard.Run({"run", "--detach", "--name", name, "--", "/bin/sh", "-c", program}).exit_code, 0);
    wait.push_back(name);
  }
  EXPECT_EQ(yard.Run(wait, absl::Minutes(3)).exit_code, 0);
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(Iterations(yard, absl::StrCat("load-", i)).size(), 200u) << i;
  }
}

}  // namespace
}  // namespace tests
