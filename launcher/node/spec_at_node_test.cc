#include "launcher/node/spec_at_node.h"

#include <signal.h>

#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "launcher/wire/shim_protocol.h"

namespace launcher {
namespace {

using ::testing::ElementsAre;

PlaceAtNode Place() {
  return {.folder = "/n/attempts/a",
          .task_socket = "/s/1",
          .control_socket = "/s/1.ctl",
          .trainer_socket = "/s/reports",
          .owner = 7,
          .owner_start_ticks = 9};
}

TEST(SpecAtNodeTest, HasThePathsOfTheNode) {
  const ShimSpec given{.argv = {"./train"},
                       .environment = {"A=b", "YARD_HEARTBEAT=/far/heartbeat"},
                       .working_directory = "/w",
                       .trainer_socket = "/far/trainer"};
  const auto spec = SpecAtNode(given, Place());
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_THAT(spec->argv, ElementsAre("./train"));
  EXPECT_THAT(spec->environment, ElementsAre("A=b", "YARD_HEARTBEAT=/n/attempts/a/heartbeat"));
  EXPECT_EQ(spec->working_directory, "/w");
  EXPECT_EQ(spec->stdout_path, "/n/attempts/a/stdout");
  EXPECT_EQ(spec->stderr_path, "/n/attempts/a/stderr");
  EXPECT_EQ(spec->task_socket, "/s/1");
  EXPECT_EQ(spec->control_socket, "/s/1.ctl");
  EXPECT_EQ(spec->trainer_socket, "/s/reports");
}

TEST(SpecAtNodeTest, EndsWithTheNode) {
  ShimSpec given{.argv = {"./train"}};
  auto spec = SpecAtNode(given, Place());
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->owner, 7);
  EXPECT_EQ(spec->owner_start_ticks, 9u);
  EXPECT_EQ(spec->owner_stop_signal, SIGTERM);
  EXPECT_EQ(spec->owner_stop_grace_ms, 10'000);
  given.owner_stop_grace_ms = 500;
  spec = SpecAtNode(given, Place());
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->owner_stop_grace_ms, 500);
}

TEST(SpecAtNodeTest, OneThatReportsNeedsAWayToTheTrainer) {
  PlaceAtNode place = Place();
  place.trainer_socket.clear();
  const auto refused = SpecAtNode({.argv = {"./train"}, .trainer_socket = "/far/trainer"}, place);
  EXPECT_TRUE(absl::IsFailedPrecondition(refused.status())) << refused.status();
  const auto spec = SpecAtNode({.argv = {"./train"}}, place);
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->trainer_socket, "");
}

}  // namespace
}  // namespace launcher
