#include "tools/yard/at/remote_run.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace yard {
namespace {

// Without a login environment, programs of these verbs would get a poor PATH.
TEST(RemoteRunTest, WhatStartsProgramsNeedsALogin) {
  for (const char* verb : {"run", "sweep", "launch", "apply", "up", "tensorboard", "import"}) {
    EXPECT_TRUE(NeedsLogin({verb})) << verb;
  }
  EXPECT_TRUE(NeedsLogin({"a-verb-of-tomorrow"}));
  EXPECT_FALSE(NeedsLogin({"ps", "run"}));
  EXPECT_FALSE(NeedsLogin({}));
}

}  // namespace
}  // namespace yard
