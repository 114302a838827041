#include "launcher/testing/spec/cluster_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <set>
#include <string>

namespace launcher::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

TEST(ClusterSpecTest, HasTheTypesInTheirOrder) {
  const auto spec = CreateClusterSpec(true, 2, 1, true);
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_THAT(TaskNames(*spec),
              ElementsAre("chief-0", "worker-0", "worker-1", "ps-0", "evaluator-0"));
  std::set<std::string> addresses;
  for (const auto& [type, all] : *spec) {
    for (const auto& address : all) {
      EXPECT_THAT(address, StartsWith("localhost:"));
      EXPECT_TRUE(addresses.insert(address).second) << address;
    }
  }
  EXPECT_TRUE(CheckClusterSpec(*spec).ok());
}

TEST(ClusterSpecTest, HasOneWorkerUnlessAskedOtherwise) {
  EXPECT_THAT(TaskNames(*CreateClusterSpec()), ElementsAre("worker-0"));
  EXPECT_THAT(TaskNames(*CreateClusterSpec(false, 0, 1)), ElementsAre("ps-0"));
  EXPECT_EQ(CreateClusterSpec(false, -1).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(ClusterSpecTest, RefusesWhatIsNoCluster) {
  EXPECT_EQ(CheckClusterSpec({}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CheckClusterSpec({{"worker", {}}}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CheckClusterSpec({{"worker", {"nowhere"}}}).code(), absl::StatusCode::kInvalidArgument);
  const absl::Status chiefs = CheckClusterSpec({{"chief", {"a:1", "a:2", "a:3"}}});
  EXPECT_THAT(std::string(chiefs.message()), HasSubstr("at most one chief, this one has 3"));
}

TEST(ClusterSpecTest, ATaskBesideTheSpecIsCheckedLikeThoseOfIt) {
  const ClusterSpec spec = {{"chief", {"a:1"}}, {"worker", {"a:2", "a:3"}}};
  for (const char* type : {"worker", "chief", "evaluator", "my_type"}) {
    EXPECT_TRUE(CheckTask(spec, type, 7).ok()) << type;
  }
  for (const char* type : {"", "wor ker", "../worker", "worker-1", "a\nb"}) {
    EXPECT_EQ(CheckTask(spec, type, 0).code(), absl::StatusCode::kInvalidArgument) << type;
  }
  EXPECT_EQ(CheckTask(spec, "worker", -1).code(), absl::StatusCode::kInvalidArgument);
}

TEST(ClusterSpecTest, TellsATaskOfTheClusterAsPythonDoes) {
  const ClusterSpec spec = {{"chief", {"a:1"}}, {"worker", {"b:2", "c:3"}}};
  EXPECT_EQ(TfConfigOf(spec, "grpc", "worker", 7),
            R"({"cluster": {"chief": ["a:1"], "worker": ["b:2", "c:3"]}, )"
            R"("task": {"type": "worker", "index": 7}, "rpc_layer": "grpc"})");
}

TEST(ClusterSpecTest, DealsGpusOutToTheWorkers) {
  const ClusterSpec spec = {
      {"chief", {"a:1"}}, {"worker", {"a:2", "a:3"}}, {"ps", {"a:4"}}, {"evaluator", {"a:5"}}};
  const std::vector<std::string> gpus = {"0", "1", "2", "3", "4"};
  EXPECT_THAT(GpusOf(spec, "chief", 0, gpus), ElementsAre("0", "3"));
  EXPECT_THAT(GpusOf(spec, "worker", 0, gpus), ElementsAre("1", "4"));
  EXPECT_THAT(GpusOf(spec, "worker", 1, gpus), ElementsAre("2"));
  EXPECT_THAT(GpusOf(spec, "evaluator", 0, gpus), ElementsAre("0", "1", "2", "3", "4"));
  EXPECT_THAT(GpusOf(spec, "ps", 0, gpus), IsEmpty());
}

TEST(ClusterSpecTest, KnowsTheGpusThatThisProcessMayUse) {
  setenv("CUDA_VISIBLE_DEVICES", "3,GPU-7", 1);
  EXPECT_THAT(VisibleGpus(), ElementsAre("3", "GPU-7"));
  setenv("CUDA_VISIBLE_DEVICES", "", 1);
  EXPECT_THAT(VisibleGpus(), IsEmpty());
  unsetenv("CUDA_VISIBLE_DEVICES");
}

}  // namespace
}  // namespace launcher::testing
