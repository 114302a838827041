#include "tools/yard/cli/callers_environment.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace yard {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

TEST(CallersEnvironmentTest, IsTheWholeEnvironment) {
  const std::vector<std::string> all = {"PATH=/p",         "TEST_DATA_DIR=/d",
                                        "BAZEL_X=1",       "RANK=0",
                                        "RUNFILES_DIR=/r", "BUILD_WORKING_DIRECTORY=/b",
                                        "YARD_STATE=/s",   "YARD_SEED=7",
                                        "EMPTY=",          "A=b=c"};
  EXPECT_THAT(CallersEnvironment(all), ElementsAreArray(all));
}

TEST(CallersEnvironmentTest, InsideATaskWhatWasSetForThatIsTakenOut) {
  EXPECT_THAT(
      CallersEnvironment({"PATH=/p", "YARD_SOCKET=/s", "YARD_FD=3:7", "RANK=1", "TF_CONFIG={}",
                          "OMP_NUM_THREADS=4", "YARD_JOB_ID=j-abcde", "YARD_TRIAL_ID=t-abcde",
                          "YARD_SEED=7", "YARD_STATE=/state", "YARD_VARIABLES=TF_CONFIG,RANK"}),
      ElementsAre("PATH=/p", "OMP_NUM_THREADS=4", "YARD_STATE=/state"));
}

}  // namespace
}  // namespace yard
