// Tests that the usage of a node's attempts is encoded without loss, and that damaged messages are
// rejected.

#include "launcher/node/node_usage.h"

#include <cmath>
#include <cstdint>
#include <string>

#include "bus/schema/launcher_generated.h"
#include "gtest/gtest.h"
#include "launcher/wire/record.h"

namespace launcher {
namespace {

NodeUsage Usage() {
  NodeUsage usage{.number = 7};
  auto& attempt = usage.attempts.emplace_back();
  attempt.task = "j-abcde.0.1";
  attempt.cpu_us = std::uint64_t{1} << 50;
  attempt.rss_bytes = 3 << 20;
  attempt.processes = 4;
  attempt.source = "cgroup";
  attempt.io_known = true;
  attempt.read_bytes = 5;
  attempt.written_bytes = 6;
  attempt.gpus = {0, 3};
  usage.attempts.emplace_back().task = "j-abcde.1.1";
  auto& gpu = usage.gpus.emplace_back();
  gpu.index = 3;
  gpu.uuid = "GPU-1";
  gpu.name = "A100";
  gpu.utilisation = 41.5;
  gpu.memory_bytes = 1 << 30;
  gpu.memory_total_bytes = 2U << 30;
  gpu.temperature = 60;
  gpu.power = 212.125;
  return usage;
}

TEST(NodeUsageTest, UsageIsReadAsItWasSaid) {
  const NodeUsage usage = Usage();
  const auto read = NodeUsage::Decode(usage.Encode());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->number, 7U);
  ASSERT_EQ(read->attempts.size(), 2U);
  const msg::TaskUsageT& attempt = read->attempts[0];
  EXPECT_EQ(attempt.task, "j-abcde.0.1");
  EXPECT_EQ(attempt.cpu_us, std::uint64_t{1} << 50);
  EXPECT_EQ(attempt.rss_bytes, 3U << 20);
  EXPECT_EQ(attempt.processes, 4U);
  EXPECT_EQ(attempt.source, "cgroup");
  EXPECT_TRUE(attempt.io_known);
  EXPECT_EQ(attempt.read_bytes, 5U);
  EXPECT_EQ(attempt.written_bytes, 6U);
  EXPECT_EQ(attempt.gpus, usage.attempts[0].gpus);
  EXPECT_FALSE(read->attempts[1].io_known);
  ASSERT_EQ(read->gpus.size(), 1U);
  const msg::GpuUsageT& gpu = read->gpus[0];
  EXPECT_EQ(gpu.index, 3U);
  EXPECT_EQ(gpu.uuid, "GPU-1");
  EXPECT_EQ(gpu.name, "A100");
  EXPECT_EQ(gpu.utilisation, 41.5);
  EXPECT_EQ(gpu.memory_bytes, 1U << 30);
  EXPECT_EQ(gpu.memory_total_bytes, 2U << 30);
  EXPECT_EQ(gpu.temperature, 60);
  EXPECT_EQ(gpu.power, 212.125);
}

TEST(NodeUsageTest, AFigureThatAGpuDoesNotSayStaysUnknown) {
  NodeUsage usage = Usage();
  usage.gpus[0].utilisation = usage.gpus[0].power = std::nan("");
  const auto read = NodeUsage::Decode(usage.Encode());
  ASSERT_TRUE(read);
  EXPECT_TRUE(std::isnan(read->gpus[0].utilisation));
  EXPECT_TRUE(std::isnan(read->gpus[0].power));
  EXPECT_EQ(read->gpus[0].temperature, 60);
}

TEST(NodeUsageTest, OtherWordsAndSpoiltOnesAreNone) {
  EXPECT_FALSE(NodeUsage::Decode(""));
  EXPECT_FALSE(NodeUsage::Decode(Record("news").Encode()));
  const std::string whole = Usage().Encode();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    // (A record that ends after a complete field is valid.)
    const auto read = NodeUsage::Decode(whole.substr(0, size));
    EXPECT_TRUE(!read || read->attempts.size() + read->gpus.size() < 3) << size;
  }
  NodeUsage usage = Usage();
  usage.attempts[0].task = "../spec";
  EXPECT_FALSE(NodeUsage::Decode(usage.Encode()));
  usage = Usage();
  usage.attempts[0].gpus = {NodeUsage::kMaxGpus};
  EXPECT_FALSE(NodeUsage::Decode(usage.Encode()));
  usage = Usage();
  usage.gpus[0].index = NodeUsage::kMaxGpus;
  EXPECT_FALSE(NodeUsage::Decode(usage.Encode()));
  usage = Usage();
  usage.gpus.resize(NodeUsage::kMaxGpus + 1);
  EXPECT_FALSE(NodeUsage::Decode(usage.Encode()));
}

TEST(NodeUsageTest, NamesOfGpusCannotWriteOnATerminal) {
  NodeUsage usage = Usage();
  usage.gpus[0].name = "A\x1b[2J" + std::string(10'000, 'x');
  const auto read = NodeUsage::Decode(usage.Encode());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->gpus[0].name.find('\x1b'), std::string::npos);
  EXPECT_LT(read->gpus[0].name.size(), 2000U);
}

}  // namespace
}  // namespace launcher
