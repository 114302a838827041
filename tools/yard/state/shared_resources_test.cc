#include "tools/yard/state/shared_resources.h"

#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace yard {
namespace {

using ::testing::HasSubstr;

TEST(SharedResourcesTest, AmountsAndSetsAreTaken) {
  for (const char* text : {"slots=4", "slots=1000000000", "gpu=0", "gpu=0,1", "gpu=0,", "disk=a,",
                           "disk=dev/sda,b:1", "gpu=GPU-8f2c-11,GPU-9d", "a-b_c=1"}) {
    EXPECT_TRUE(CheckSharedResources({text}).ok()) << text;
  }
  EXPECT_TRUE(CheckSharedResources({}).ok());
  EXPECT_TRUE(CheckSharedResources({"gpu=0,1", "slots=4"}).ok());
}

TEST(SharedResourcesTest, WhatIsWrongIsSaid) {
  const std::pair<std::vector<std::string>, const char*> kCases[] = {
      {{"slots"}, "--resources \"slots\": expected NAME=AMOUNT or NAME=A,B,..."},
      {{"=4"}, "expected NAME=AMOUNT"},
      {{"a b=4"}, "expected NAME=AMOUNT"},
      {{"slots=0"}, "an amount is from 1 to 1000000000 (and a set of one member has a comma: "},
      {{"slots=x"}, "slots=a,)"},
      {{"slots="}, "an amount is from 1"},
      {{"gpu="}, "a member is not a word"},
      {{"gpu=0-3"}, "\"gpu=0-3\": members are named one by one: 0,1,2"},
      {{"gpu=0,1;slots=4"}, "a member is not a word"},
      {{"gpu=0,0"}, "0 is there twice"},
      {{"slots=1", "slots=2"}, "\"slots=2\": slots is there twice"},
      {{"gpu=\x1b[2J"}, "\\x1B"},
  };
  for (const auto& [texts, error] : kCases) {
    EXPECT_THAT(std::string(CheckSharedResources(texts).message()), HasSubstr(error));
  }
}

}  // namespace
}  // namespace yard
