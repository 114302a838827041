#include "eventlog/hparams_content.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "eventlog/testing/protobuf_bytes.h"

namespace eventlog {
namespace {

using testing::Bytes;
using testing::Double;
using testing::Number;

std::string Entry(const std::string& name, const std::string& value) {
  return Bytes(1, Bytes(1, name) + Bytes(2, value));
}

TEST(HParamsContentTest, ASessionBeginsWithItsParameters) {
  const std::string start = Entry("rate", Double(2, 0.1)) + Entry("name", Bytes(3, "adam")) +
                            Entry("nesterov", Number(4, 1)) + Entry("none", "") +
                            Bytes(2, "model") + Bytes(3, "monitor") + Bytes(4, "group") +
                            Double(5, 12.5);
  const std::string content = Number(1, 0) + Bytes(3, start);
  const auto hparams = ReadHParamsContent(content);
  ASSERT_TRUE(hparams.ok()) << hparams.status();
  EXPECT_EQ(hparams->kind, HParamsContent::Kind::kSessionStart);
  const std::map<std::string, std::string> expected = {
      {"rate", "0.1"}, {"name", "\"adam\""}, {"nesterov", "true"}, {"none", "null"}};
  EXPECT_EQ(hparams->hparams, expected);
  EXPECT_EQ(hparams->model_uri, "model");
  EXPECT_EQ(hparams->monitor_url, "monitor");
  EXPECT_EQ(hparams->group_name, "group");
  EXPECT_EQ(hparams->start_time, 12.5);
}

TEST(HParamsContentTest, ASessionEndsWithAStatus) {
  const std::string content = Bytes(4, Number(1, 2) + Double(2, 99));
  const auto hparams = ReadHParamsContent(content);
  ASSERT_TRUE(hparams.ok());
  EXPECT_EQ(hparams->kind, HParamsContent::Kind::kSessionEnd);
  EXPECT_EQ(hparams->status, HParamsContent::Status::kFailure);
  EXPECT_EQ(hparams->end_time, 99);
}

TEST(HParamsContentTest, AnExperimentIsJson) {
  const std::string interval = Bytes(6, Double(1, 0) + Double(2, 1));
  const std::string choices = Bytes(5, Bytes(1, Double(2, 16)) + Bytes(1, Double(2, 32)));
  const std::string experiment =
      Bytes(6, "mnist") + Double(3, 2.5) + Bytes(4, Bytes(1, "rate") + Number(4, 3) + interval) +
      Bytes(4, Bytes(1, "batch") + choices) +
      Bytes(5, Bytes(1, Bytes(1, "train") + Bytes(2, "loss")) + Bytes(3, "Loss") + Number(5, 2));
  const auto hparams = ReadHParamsContent(Bytes(2, experiment));
  ASSERT_TRUE(hparams.ok()) << hparams.status();
  EXPECT_EQ(hparams->kind, HParamsContent::Kind::kExperiment);
  EXPECT_EQ(hparams->experiment,
            R"({"name":"mnist","time_created_secs":2.5,"hparam_infos":[{"name":"rate","type":3,)"
            R"("domain_interval":{"min_value":0,"max_value":1}},{"name":"batch",)"
            R"("domain_discrete":[16,32]}],"metric_infos":[{"name":{"group":"train",)"
            R"("tag":"loss"},"display_name":"Loss","dataset_type":2}]})");
}

TEST(HParamsContentTest, ItIsAboutTheLastThingItNames) {
  const std::string content = Bytes(3, Bytes(4, "group")) + Bytes(4, Number(1, 1));
  const auto hparams = ReadHParamsContent(content);
  ASSERT_TRUE(hparams.ok());
  EXPECT_EQ(hparams->kind, HParamsContent::Kind::kSessionEnd);
  EXPECT_EQ(hparams->group_name, "");
  EXPECT_EQ(ReadHParamsContent("")->kind, HParamsContent::Kind::kNone);
}

TEST(HParamsContentTest, DamageIsRefused) {
  std::string deep = Number(4, 1);
  for (int i = 0; i < 100; ++i) deep = Bytes(6, Bytes(1, deep));
  for (const std::string& content :
       {Number(3, 1), Bytes(3, Bytes(5, "time")), Bytes(3, Bytes(1, Number(1, 1))),
        Bytes(3, Entry("x", Number(2, 1))), Bytes(3, Entry("x", deep)), Bytes(4, Bytes(1, "ok")),
        Bytes(2, Number(6, 1)), std::string(20, '\xff')}) {
    EXPECT_EQ(ReadHParamsContent(content).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace eventlog
