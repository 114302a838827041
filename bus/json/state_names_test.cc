#include "bus/json/state_names.h"

#include <gtest/gtest.h>

namespace bus {
namespace {

TEST(StateNamesTest, AreTheSameByTypeAndByName) {
  for (const msg::TrialState state : msg::EnumValuesTrialState()) {
    EXPECT_STREQ(StateName(state), StateNameOf("TrialState", static_cast<int>(state)));
  }
  EXPECT_STREQ(StateName(msg::TrialState::Failed), "failed");
  EXPECT_STREQ(StateName(msg::TaskState::Exited), "done");
  EXPECT_STREQ(StateName(msg::TaskState::Lost), "lost");
  EXPECT_STREQ(StateName(msg::SweepState::Paused), "paused");
  EXPECT_STREQ(StateName(msg::SweepStage::StoppedEarly), "stopped early");
  EXPECT_STREQ(StateNameOf("LeaseState", 1), "suspect");
}

TEST(StateNamesTest, WhatIsUnknownIsSaidSo) {
  EXPECT_STREQ(StateName(static_cast<msg::TrialState>(200)), "unknown");
  EXPECT_EQ(StateNameOf("TrialState", 200), nullptr);
  EXPECT_EQ(StateNameOf("TrialState", -1), nullptr);
  EXPECT_EQ(StateNameOf("LogStream", 0), nullptr);
}

}  // namespace
}  // namespace bus
