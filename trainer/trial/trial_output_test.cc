#include "trainer/trial/trial_output.h"

#include <stdlib.h>

#include <filesystem>
#include <string>

#include "gtest/gtest.h"
#include "runtime/file/file.h"
#include "trainer/attempt/output_reader.h"
#include "trainer/attempt/program_runner.h"
#include "trainer/report/line_receiver.h"
#include "trainer/store/trial_record.h"

namespace trainer {
namespace {

TEST(TrialOutputTest, AnAttemptBeginsBehindTheOutputOfThoseBefore) {
  char name[] = "/tmp/to-XXXXXX";
  TrialRecord trial;
  trial.number = 7;
  trial.attempt = 2;
  trial.spec.run_directory = mkdtemp(name);
  trial.spec.options.output_reports = "json";
  EXPECT_TRUE(OutputBefore(trial, 0).empty()) << "there is none yet";
  EXPECT_EQ(OutputBehind(trial, 0), 0);
  ASSERT_TRUE(runtime::WriteFileAtomically(OutputPathOf(trial), "{\"a\":1}\nend\n", 0644).ok());
  const auto before = OutputBefore(trial, 8);
  ASSERT_EQ(before.size(), 1u);
  EXPECT_EQ(before[0].trial, 7);
  EXPECT_EQ(before[0].attempt, 2);
  EXPECT_EQ(before[0].number, 12);
  EXPECT_TRUE(OutputBefore(trial, 12).empty());
  EXPECT_EQ(OutputBehind(trial, 8), 4);
  EXPECT_EQ(OutputBehind(trial, 100), 0);
  trial.spec.options.output_reports.clear();
  EXPECT_TRUE(OutputBefore(trial, 0).empty()) << "it reports on the channel";
  std::filesystem::remove_all(trial.spec.run_directory);
}

TEST(TrialOutputTest, WhatWasReadIsAReport) {
  const auto lines = AsRelayed({7, 2}, {{8, R"({"a":1})"}, {16, R"({"a":2})"}});
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[1].attempt, (AttemptKey{7, 2}));
  EXPECT_EQ(lines[1].number, 16);
  EXPECT_EQ(lines[1].text, R"({"t":"report","m":{"a":2}})");
  EXPECT_FALSE(lines[1].is_end);
}

TEST(TrialOutputTest, WhatIsLostIsSaidBehindTheReason) {
  EXPECT_EQ(WithLostOutput("it was asked to stop", 0), "it was asked to stop");
  EXPECT_EQ(WithLostOutput("it was asked to stop", 12),
            "it was asked to stop; there was no room for the reports in the last 12 bytes of its "
            "output");
  EXPECT_EQ(WithLostOutput("", 12),
            "there was no room for the reports in the last 12 bytes of its output");
}

}  // namespace
}  // namespace trainer
