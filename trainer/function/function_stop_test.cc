// A function's own stop criterion, driven by a FunctionRunner. (For trials:
// function_process_test.cc.)

#include <stdlib.h>

#include <stdexcept>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/function/function_runner.h"
#include "trainer/function/functions.h"
#include "trainer/function/named_values.h"
#include "trainer/function/reporter.h"
#include "trainer/function/training_progress.h"

namespace trainer {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

void Count(const NamedValues&, Reporter& reporter) {
  for (int loss = 10;; --loss) reporter.Report({{"loss", loss}});
}

FunctionRunner::Options RunnerOptions() {
  std::string name = absl::StrCat(::testing::TempDir(), "/stop-XXXXXX");
  FunctionRunner::Options options;
  options.trial = {"t-abcde", "first", mkdtemp(name.data())};
  return options;
}

TEST(FunctionStopTest, TheResultItHoldsForIsDone) {
  FunctionOptions own;
  own.stop = [](const Result& result) {
    return result.training_iteration >= 2 && result.reported.Number("loss") < 9;
  };
  FunctionRunner runner(MakeFunction("count", Count, own), RunnerOptions());
  EXPECT_FALSE(runner.Step()->done);
  EXPECT_FALSE(runner.Step()->done);
  EXPECT_TRUE(runner.Step()->done);
  EXPECT_EQ(runner.Stop(), absl::OkStatus());
}

TEST(FunctionStopTest, WhatItThrowsIsTheErrorOfTheStep) {
  bool fails = true;
  FunctionOptions own;
  own.stop = [&](const Result&) -> bool {
    if (std::exchange(fails, false)) throw std::runtime_error("no idea");
    return false;
  };
  FunctionRunner runner(MakeFunction("count", Count, own), RunnerOptions());
  EXPECT_THAT(std::string(runner.Step().status().message()),
              HasSubstr("the stop function of count failed: no idea"));
  // The result is not lost.
  EXPECT_EQ(runner.Step()->training_iteration, 1);
}

struct OddThing {};

TEST(FunctionStopTest, WhatItThrowsMayBeNoException) {
  bool fails = true;
  FunctionOptions own;
  own.stop = [&](const Result&) -> bool {
    if (std::exchange(fails, false)) throw OddThing();
    return false;
  };
  FunctionRunner runner(MakeFunction("count", Count, own), RunnerOptions());
  EXPECT_THAT(std::string(runner.Step().status().message()),
              AllOf(HasSubstr("the stop function of count failed: an exception of type "),
                    HasSubstr("OddThing")));
  EXPECT_EQ(runner.Step()->training_iteration, 1);
}

TEST(FunctionStopTest, WithoutOneNothingEnds) {
  const auto ends = EndsAt(MakeFunction("count", Count), Result());
  ASSERT_TRUE(ends.ok());
  EXPECT_FALSE(*ends);
}

}  // namespace
}  // namespace trainer
