#include "launcher/job/shared_callers.h"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "launcher/job/from_caller.h"

namespace launcher {
namespace {

FromCaller Caller(const std::string& variable) { return {.environment = {variable}}; }

TEST(SharedCallersTest, EqualCallersAreOneCopy) {
  SharedCallers callers;
  const auto first = callers.Share(Caller("A=1"));
  const auto other = callers.Share(Caller("A=2"));
  EXPECT_EQ(callers.Share(Caller("A=1")), first);
  EXPECT_NE(first, other);
  EXPECT_EQ(other->environment, std::vector<std::string>{"A=2"});
}

TEST(SharedCallersTest, ACallerThatNobodyHasIsNotKept) {
  SharedCallers callers;
  const std::weak_ptr<const FromCaller> gone = callers.Share(Caller("A=1"));
  EXPECT_TRUE(gone.expired());
  EXPECT_EQ(callers.Share(Caller("A=1"))->environment, std::vector<std::string>{"A=1"});
}

TEST(SharedCallersTest, OnlyTheLastCallersAreCompared) {
  SharedCallers callers;
  std::vector<std::shared_ptr<const FromCaller>> kept = {callers.Share(Caller("A=first"))};
  for (std::size_t i = 1; i < SharedCallers::kMostCompared; ++i) {
    kept.push_back(callers.Share(Caller("A=" + std::to_string(i))));
  }
  EXPECT_EQ(callers.Share(Caller("A=first")), kept.front());
  kept.push_back(callers.Share(Caller("A=last")));
  EXPECT_NE(callers.Share(Caller("A=first")), kept.front());
}

}  // namespace
}  // namespace launcher
