#include <gtest/gtest.h>

#include <string>

#include "launcher/testing/multi_process_pool_runner.h"
#include "launcher/testing/multi_process_runner.h"

// This test has the main() of GoogleTest.

namespace launcher::testing {
namespace {

void Nothing() {}
const Function kNothing("Nothing", Nothing);

TEST(NoMainTest, ARunnerSaysWhichMainItNeeds) {
  const Outcome outcome = RunProcesses(kNothing, CreateClusterSpec().value());
  EXPECT_EQ(outcome.error, RunError::kNotInitialized);
  EXPECT_EQ(outcome.status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(std::string(outcome.status.message()).find("multi_process_main"), std::string::npos);
}

TEST(NoMainTest, APoolDoesToo) {
  MultiProcessPoolRunner pool(CreateClusterSpec().value());
  EXPECT_EQ(pool.Run(kNothing).error, RunError::kNotInitialized);
}

}  // namespace
}  // namespace launcher::testing
