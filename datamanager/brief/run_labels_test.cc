#include "datamanager/brief/run_labels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/status/status.h"

namespace datamanager {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(RunLabelsTest, ReadsWhatIsThere) {
  const RunLabels all = ParseRunLabels(R"({"command": ["python", "x.py"], "trial": "t-abcde",
                                          "labels": ["base", "größer"], "group": "sweep"})")
                            .value();
  EXPECT_THAT(all.labels, ElementsAre("base", "größer"));
  EXPECT_EQ(all.trial, "t-abcde");
  EXPECT_EQ(all.group, "sweep");
  const RunLabels none = ParseRunLabels(R"({"host": 7})").value();
  EXPECT_THAT(none.labels, IsEmpty());
  EXPECT_EQ(none.trial, "");
}

TEST(RunLabelsTest, AnythingElseIsAnError) {
  std::string many = R"({"labels": ["x")";
  for (std::size_t i = 0; i < RunLabels::kMaxLabels; ++i) many += R"(,"x")";
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("[]"), std::string("null"),
        std::string(R"({"labels": "base"})"), std::string(R"({"labels": ["base", 7]})"),
        std::string(R"({"trial": 7})"), std::string(R"({"group": null})"),
        std::string("{\"trial\": \"\xFF\"}"), std::string(100'000, '['), many + "]}"}) {
    EXPECT_EQ(ParseRunLabels(text).status().code(), absl::StatusCode::kInvalidArgument)
        << text.substr(0, 100);
  }
}

}  // namespace
}  // namespace datamanager
