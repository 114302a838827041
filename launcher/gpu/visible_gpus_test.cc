#include "launcher/gpu/visible_gpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace launcher {
namespace {

using ::testing::ElementsAreArray;

std::vector<msg::GpuUsageT> FourGpus() {
  std::vector<msg::GpuUsageT> gpus(4);
  for (std::uint32_t i = 0; i < 4; ++i) {
    gpus[i].index = i;
    gpus[i].uuid = "GPU-" + std::to_string(i) + "abc-def";
  }
  gpus[3].uuid.clear();  // This GPU is lost.
  return gpus;
}

TEST(VisibleGpusTest, AreReadAsCudaReadsThem) {
  const struct {
    std::string visible;
    std::vector<std::uint32_t> indices;
  } rows[] = {
      {"", {}},
      {"0", {0}},
      {"2,0", {2, 0}},
      {" 1 , 3 ", {1, 3}},
      {"1,1,0", {1, 0}},
      {"GPU-2abc-def", {2}},
      {"GPU-2a,GPU-0", {2, 0}},
      {"0,NoDevFiles,1", {0}},
      {"0,-1,1", {0}},
      {"0,4,1", {0}},
      {"MIG-0abc/1/0", {}},
      {"GPU-9", {}},
      {"abc", {}},
      {"99999999999999999999", {}},
      {",0", {}},
  };
  for (const auto& row : rows) {
    EXPECT_THAT(VisibleGpus(row.visible, FourGpus()), ElementsAreArray(row.indices)) << row.visible;
  }
}

TEST(VisibleGpusTest, OfAMachineWithoutAnyThereAreNone) {
  EXPECT_TRUE(VisibleGpus("0,1", {}).empty());
}

}  // namespace
}  // namespace launcher
