// Tests the usage of nodes in the reply for all tasks; tests/pool_jobs_test.py tests the calls.

#include "launcher/usage_calls.h"

#include <string>
#include <vector>

#include "bus/schema/launcher_generated.h"
#include "gtest/gtest.h"
#include "launcher/node/node_usage.h"

namespace launcher {
namespace {

NodeUsage UsageOf(const std::string& key) {
  NodeUsage usage;
  auto& attempt = usage.attempts.emplace_back();
  attempt.task = key;
  attempt.cpu_us = 5;
  attempt.gpus = {0, 2};
  auto& gpu = usage.gpus.emplace_back();
  gpu.index = 2;
  gpu.name = "A100";
  gpu.uuid = "GPU-2";
  return usage;
}

TEST(UsageCallsTest, GpusOfNodesAreNotThoseOfThisHost) {
  msg::UsageReplyT reply;
  AddUsageOfNode("gpu1", 1, UsageOf("j-abcde.0.3"), {{"j-abcde.0.3", {"j-abcde/worker-0", 3}}},
                 &reply);
  AddUsageOfNode("gpu2", 2, UsageOf("j-abcde.1.1"), {{"j-abcde.1.1", {"j-abcde/worker-1", 1}}},
                 &reply);
  ASSERT_EQ(reply.tasks.size(), 2U);
  EXPECT_EQ(reply.tasks[0]->task, "j-abcde/worker-0");
  EXPECT_EQ(reply.tasks[0]->attempt, 3U);
  EXPECT_EQ(reply.tasks[0]->cpu_us, 5U);
  EXPECT_EQ(reply.tasks[0]->gpus, (std::vector<std::uint32_t>{1000, 1002}));
  EXPECT_EQ(reply.tasks[1]->gpus, (std::vector<std::uint32_t>{2000, 2002}));
  ASSERT_EQ(reply.gpus.size(), 2U);
  EXPECT_EQ(reply.gpus[0]->index, 1002U);
  EXPECT_EQ(reply.gpus[0]->name, "A100 of gpu1");
  EXPECT_EQ(reply.gpus[1]->uuid, "GPU-2");
}

TEST(UsageCallsTest, ANodeSpeaksForItsAttemptsAlone) {
  msg::UsageReplyT reply;
  AddUsageOfNode("gpu1", 1, UsageOf("j-other.0.1"), {{"j-abcde.0.3", {"j-abcde/worker-0", 3}}},
                 &reply);
  EXPECT_TRUE(reply.tasks.empty());
}

}  // namespace
}  // namespace launcher
