// The main job, as a newcomer does it: up, train, look, down.

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/yard_fixture.h"

namespace tests {
namespace {

using ::testing::HasSubstr;

std::vector<std::string> Digits(std::vector<std::string> args, std::vector<std::string> program) {
  args.insert(args.begin(), "run");
  args.push_back("--");
  args.push_back(Yard::Binary("examples/digits/digits"));
  args.push_back(Yard::DigitsData());
  args.insert(args.end(), program.begin(), program.end());
  return args;
}

class MainJobTest : public testing::Test {
 protected:
  void SetUp() override {
    const CommandResult up = yard_.Run({"up", "--logdir", yard_.logdir()});
    ASSERT_EQ(up.exit_code, 0) << up.err;
    up_ = up;
  }
  Yard yard_;
  CommandResult up_;
};

TEST_F(MainJobTest, TrainsAModelAndShowsIt) {
  const CommandResult run = yard_.Run(Digits({"--name", "digits"}, {"--seed=1"}));
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const std::size_t accuracy = run.out.rfind("accuracy 0.9");
  ASSERT_NE(accuracy, std::string::npos) << run.out;
  EXPECT_GE(std::stod(run.out.substr(accuracy + std::string("accuracy ").size())), 0.95);

  for (const char* file : {"result.json", "params.json", "progress.csv"}) {
    EXPECT_TRUE(std::filesystem::exists(yard_.logdir() + "/digits/" + file)) << file;
  }
  EXPECT_TRUE(Yard::Eventually([&] {
    return yard_.Run({"runs"}).out.find("digits") != std::string::npos;
  })) << yard_.Run({"runs"}).err;
  const CommandResult plot = yard_.Run({"plot", "digits", "-m", "loss"});
  EXPECT_EQ(plot.exit_code, 0) << plot.err;
  EXPECT_THAT(plot.out, HasSubstr("loss"));
  EXPECT_THAT(yard_.Run({"logs", "digits"}).out, HasSubstr("accuracy 0.9"));
  EXPECT_THAT(yard_.Run({"show", "digits"}).out, HasSubstr("done"));
}

TEST_F(MainJobTest, StatusShowsEachServiceOnce) {
  const auto status = yard_.Status();
  for (const char* service : {"registry", "launcher", "datamanager", "trainer"}) {
    ASSERT_TRUE(status.contains(service)) << service;
    EXPECT_EQ(status.at(service).value("state", ""), "up") << service;
    EXPECT_EQ(status.at(service).value("pid", 0), yard_.PidOf(service)) << service;
    EXPECT_EQ(status.at(service).value("restarts", -1), 0) << service;
  }
}

TEST_F(MainJobTest, ASecondUpSaysSoAndAnotherLogdirIsRefused) {
  const CommandResult again = yard_.Run({"up"});
  EXPECT_EQ(again.exit_code, 0);
  EXPECT_THAT(again.out + again.err, HasSubstr("already up"));
  const CommandResult other = yard_.Run({"up", "--logdir", yard_.directory() + "/elsewhere"});
  EXPECT_EQ(other.exit_code, 6);
  EXPECT_THAT(other.err, HasSubstr(yard_.logdir()));
  EXPECT_THAT(other.err, HasSubstr("elsewhere"));
}

TEST_F(MainJobTest, AFailureIsTheLastThingPrinted) {
  const CommandResult run = yard_.Run(
      {"run", "--name", "bad", "--", "/bin/sh", "-c", "echo fine; echo the cause >&2; exit 3"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.err, HasSubstr("exit code 3"));
  EXPECT_THAT(run.err, HasSubstr("the cause"));
  const CommandResult missing = yard_.Run({"run", "--name", "none", "--", "no-such-program-here"});
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_THAT(missing.err, HasSubstr("no-such-program-here"));
}

TEST_F(MainJobTest, StopIsObeyed) {
  ASSERT_EQ(
      yard_.Run(Digits({"--name", "long", "--detach"}, {"--epochs=100000", "--min_epoch_ms=20"}))
          .exit_code,
      0);
  ASSERT_TRUE(Yard::Eventually(
      [&] { return std::filesystem::exists(yard_.logdir() + "/long/result.json"); }));
  const CommandResult stop = yard_.Run({"stop", "long"}, absl::Seconds(20));
  EXPECT_EQ(stop.exit_code, 0) << stop.err;
  EXPECT_THAT(yard_.Run({"show", "long"}).out, HasSubstr("stopped"));
  EXPECT_TRUE(ProcessesWithEnvironment("YARD_TRIAL_NAME=long").empty());
}

TEST_F(MainJobTest, DownStopsEverything) {
  ASSERT_EQ(
      yard_.Run(Digits({"--name", "long", "--detach"}, {"--epochs=100000", "--min_epoch_ms=20"}))
          .exit_code,
      0);
  EXPECT_EQ(yard_.Run({"down"}, absl::Seconds(40)).exit_code, 0);
  for (const char* service : {"registry", "launcher", "datamanager", "trainer"}) {
    EXPECT_EQ(yard_.PidOf(service), 0) << service;
  }
  EXPECT_TRUE(ProcessesWithEnvironment("YARD_TRIAL_NAME=long").empty());
  EXPECT_EQ(yard_.Run({"status"}).exit_code, 4);
}

TEST_F(MainJobTest, DownKeepLeavesTheRunAndUpTakesItUp) {
  ASSERT_EQ(yard_.Run(Digits({"--name", "kept", "--detach"}, {"--epochs=60", "--min_epoch_ms=30"}))
                .exit_code,
            0);
  ASSERT_TRUE(Yard::Eventually(
      [&] { return std::filesystem::exists(yard_.logdir() + "/kept/result.json"); }));
  ASSERT_EQ(yard_.Run({"down", "--keep"}, absl::Seconds(40)).exit_code, 0);
  EXPECT_FALSE(ProcessesWithEnvironment("YARD_TRIAL_NAME=kept").empty());
  ASSERT_EQ(yard_.Run({"up", "--logdir", yard_.logdir()}).exit_code, 0);
  EXPECT_EQ(yard_.Run({"wait", "kept"}).exit_code, 0);
  std::ifstream results(yard_.logdir() + "/kept/result.json");
  int lines = 0;
  for (std::string line; std::getline(results, line);) ++lines;
  EXPECT_EQ(lines, 60);
}

TEST_F(MainJobTest, ASubscriberSeesTheTrialsResults) {
  Command sub = yard_.Start({"sub", "t/", "m/", "--json", "-n", "20", "--timeout", "30"});
  ASSERT_EQ(yard_.Run(Digits({"--name", "seen"}, {"--epochs=20", "--min_epoch_ms=20"})).exit_code,
            0);
  const CommandResult seen = sub.Wait(absl::Seconds(40));
  EXPECT_EQ(seen.exit_code, 0) << seen.err;
  for (const absl::string_view line : absl::StrSplit(seen.out, '\n', absl::SkipEmpty())) {
    EXPECT_TRUE(nlohmann::json::accept(line.begin(), line.end())) << line;
  }
}

TEST_F(MainJobTest, ACallReachesEveryService) {
  for (const char* service : {"registry", "launcher", "datamanager", "trainer"}) {
    const CommandResult stats = yard_.Run({"call", service, "Stats", "{}"});
    EXPECT_EQ(stats.exit_code, 0) << stats.err;
    const auto object = nlohmann::json::parse(stats.out, nullptr, false);
    ASSERT_TRUE(object.is_object()) << stats.out;
    EXPECT_EQ(object.value("service", ""), service);
    EXPECT_FALSE(object.value("threads", nlohmann::json::array()).empty()) << service;
  }
}

TEST(NoYardTest, EveryVerbSaysThatTheYardIsNotUp) {
  Yard yard;
  for (const char* verb : {"status", "ps", "runs"}) {
    const CommandResult result = yard.Run({verb});
    EXPECT_EQ(result.exit_code, 4) << verb;
    EXPECT_THAT(result.err, HasSubstr("yard up")) << verb;
  }
  EXPECT_EQ(yard.Run({"down"}).exit_code, 0);
}

}  // namespace
}  // namespace tests
