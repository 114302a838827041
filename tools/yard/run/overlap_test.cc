#include "tools/yard/run/overlap.h"

#include <set>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace yard {
namespace {

TEST(OverlapTest, EachPolicyHasAName) {
  std::set<msg::Overlap> named;
  for (const char* name :
       {"raw", "last", "tensorboard", "tensorboard-v1", "tensorboard-v2", "rust", "mindinsight"}) {
    const auto overlap = ParseOverlap(name);
    ASSERT_TRUE(overlap.ok()) << overlap.status();
    named.insert(*overlap);
  }
  for (const msg::Overlap overlap : msg::EnumValuesOverlap()) {
    EXPECT_EQ(named.count(overlap), 1U) << msg::EnumNameOverlap(overlap);
  }
}

TEST(OverlapTest, WhatIsNoneIsAnsweredWithTheNames) {
  for (const char* name : {"", "Raw", "rus", "v1"}) {
    const auto overlap = ParseOverlap(name);
    ASSERT_EQ(overlap.status().code(), absl::StatusCode::kInvalidArgument) << name;
    EXPECT_THAT(std::string(overlap.status().message()),
                testing::HasSubstr("is none of raw, last, tensorboard,"));
  }
}

}  // namespace
}  // namespace yard
