// Tests shell completion with names from services of every kind.

#include "tools/yard/complete.h"

#include <sstream>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/yard/cli/verb.h"
#include "tools/yard/testing/fake_yard.h"

namespace yard {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class CompleteTest : public ::testing::Test {
 protected:
  struct Told {
    int code = -1;
    std::string out;
  };
  // Completes after these words. Checks that stderr stays empty.
  Told At(const std::vector<std::string>& words) {
    std::ostringstream out, err;
    Context context = yard_.context();
    context.out = &out;
    context.err = &err;
    Told told;
    told.code = Complete(context, words);
    told.out = out.str();
    EXPECT_EQ(err.str(), "");
    return told;
  }

  FakeYard yard_;
};

TEST_F(CompleteTest, NamesComeFromTheServicesThatHaveThem) {
  yard_.SetNames("trainer", {"first", "both"});
  yard_.SetNames("launcher", {"train"});
  yard_.SetNames("datamanager", {"both", "old"});
  yard_.Start();
  EXPECT_EQ(At({"pause", ""}).out, "first\ttrial\nboth\ttrial\n");
  EXPECT_EQ(At({"restart", ""}).out, "train\tjob\n");
  EXPECT_EQ(At({"plot", ""}).out, "both\trun\nold\trun\nfirst\ttrial\n");
  EXPECT_EQ(At({"plot", "old", "--metric="}).out, "--metric=both\ttag\n--metric=old\ttag\n");
}

TEST_F(CompleteTest, MethodsAreThoseOfTheServiceAlsoWithoutAYard) {
  EXPECT_EQ(At({"call", "launcher", "KillM"}).out,
            "KillModes\tTries, on this machine, each way to kill a task's whole tree\n");
  EXPECT_THAT(At({"call", "launcher", ""}).out, HasSubstr("\nStats\t")) << "of every service";
  EXPECT_EQ(At({"call", "nobody", "KillM"}).out, "");
}

TEST_F(CompleteTest, WhatCannotBeTypedInALineIsLeftOut) {
  yard_.SetNames("trainer", {"good", "two\nlines", "tab\tbed", "\x1b[2J", "", "-n", "ü"});
  yard_.Start();
  EXPECT_EQ(At({"pause", ""}).out, "good\ttrial\nü\ttrial\n");
  EXPECT_THAT(At({"run", "--from="}).out, HasSubstr("\n--from=-n\ttrial\n"))
      << "there it is no flag";
}

TEST_F(CompleteTest, AServiceThatFailsCostsItsOwnNamesOnly) {
  yard_.SetNames("launcher", {"train"});
  yard_.LeaveOut("trainer");
  yard_.Start();
  const Told told = At({"logs", ""});
  EXPECT_EQ(told.code, kDone);
  EXPECT_EQ(told.out, "train\tjob\n");
}

// Retries, because on a busy machine the call may have no time left.
TEST_F(CompleteTest, NamesAreWaitedForAtMost80Ms) {
  yard_.SetNames("trainer", {"first"});
  yard_.Start();
  const absl::Time deadline = absl::Now() + absl::Seconds(30);
  while (yard_.names_waits().empty() && absl::Now() < deadline) At({"pause", ""});
  ASSERT_FALSE(yard_.names_waits().empty());
  EXPECT_LE(yard_.names_waits().front(), absl::Milliseconds(80));
}

TEST_F(CompleteTest, WithoutAYardThereAreWordsAndNoNames) {
  EXPECT_THAT(At({"pau"}).out, StartsWith("pause\t"));
  const Told told = At({"pause", ""});
  EXPECT_EQ(told.code, kDone);
  EXPECT_EQ(told.out, "");
}

TEST_F(CompleteTest, PathsAreLeftToTheShell) {
  EXPECT_EQ(At({"launch", "job"}).code, kNothingOfOurs);
  EXPECT_EQ(At({"run", "--", ""}).code, kNothingOfOurs);
}

}  // namespace
}  // namespace yard
