#include "trainer/run/failure_text.h"

#include "gtest/gtest.h"

namespace trainer {
namespace {

TEST(FailureTextTest, HasRaysLayoutAndTheLastLines) {
  const AttemptFailure first = {1, 1, 1'700'000'001'500'000, 3600, "exit code 3", {"one", "two"}};
  const AttemptFailure second = {4, 2, 1'700'000'060'000'000, 0, "no sign of life for 5s", {}};
  EXPECT_EQ(RenderFailures({first, second}),
            "Failure # 1 (occurred at 2023-11-14_23-13-21)\nattempt 1: exit code 3\none\ntwo\n"
            "Failure # 2 (occurred at 2023-11-14_22-14-20)\nattempt 4: no sign of life for 5s\n");
  EXPECT_EQ(RenderFailures({}), "");
}

}  // namespace
}  // namespace trainer
