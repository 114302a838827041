#include "tools/yard/sweep/sweep_check.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/yard/sweep/sweep_file.h"

namespace yard {
namespace {

using testing::AllOf;
using testing::HasSubstr;

SweepPreview Preview(const std::string& text) {
  const auto draft =
      ParseSweep(text, "s.yaml", "/nowhere",
                 {.command = {"./train", "${args}"}, .working_directory = "/nowhere"});
  EXPECT_TRUE(draft.ok()) << draft.status();
  const auto preview = PreviewSweep(*draft);
  EXPECT_TRUE(preview.ok()) << preview.status();
  return *preview;
}

TEST(SweepCheckTest, AGridIsCountedAndBeginsWithItsFirstCombinations) {
  const SweepPreview preview = Preview(
      "method: grid\nparameters: {b: {values: [1, 2]}, a: {min: 1, max: 3}, c: {value: x}}\n");
  EXPECT_EQ(preview.json["combinations"], 6);
  EXPECT_EQ(preview.json["trials"], 6);
  EXPECT_EQ(preview.json["first_configs"].size(), 5u);
  EXPECT_THAT(preview.text,
              AllOf(HasSubstr("6 combinations"), HasSubstr("first command\n  ./train ")));
}

TEST(SweepCheckTest, LevelsHaveTheTrialsThatAreExpectedThere) {
  const SweepPreview preview = Preview(
      "method: random\nrun_cap: 90\nmetric: {name: loss}\nearly_terminate: {type: asha, min: 1, "
      "max: 27, eta: 3}\nparameters: {x: {distribution: log_uniform_values, min: 1e-4, max: 1}}\n");
  ASSERT_EQ(preview.json["levels"].size(), 3u);
  EXPECT_EQ(preview.json["levels"][2]["resource"], 9);
  EXPECT_EQ(preview.json["levels"][2]["expected"], 10);
  EXPECT_THAT(preview.text, HasSubstr("0.0001 to 1, log uniform"));
}

TEST(SweepCheckTest, OfTwoMetricsTheOneThatStopsTrialsIsNamed) {
  const SweepPreview preview = Preview(
      "method: tpe\nrun_cap: 90\nmetrics: [{name: loss}, {name: ms}]\nearly_terminate: {type: "
      "asha, min: 1, max: 27, eta: 3}\nparameters: {x: {min: 0.0, max: 1.0}}\n");
  EXPECT_THAT(preview.text, HasSubstr("one in 3 goes on, by loss alone, the first metric\n"));
}

TEST(SweepCheckTest, WhatIsEnqueuedComesFirst) {
  const SweepPreview preview = Preview(
      "method: tpe\nmetric: {name: loss}\nrun_cap: 9\nenqueue: [{x: 0.5}]\nparameters: {x: {min: "
      "0.0, max: 1.0}}\n");
  EXPECT_EQ(preview.json["first_configs"][0]["x"], 0.5);
  EXPECT_EQ(preview.json["first_configs"].size(), 5u);
}

}  // namespace
}  // namespace yard
