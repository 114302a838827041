#include "trainer/run/outcome_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "bus/json/run_outcome.h"
#include "runtime/file/file.h"

namespace trainer {
namespace {

using bus::RunOutcome;

const RunOutcome kDone = {.state = "done", .reason = "", .ended_us = 1'000'000};

class OutcomeFileTest : public testing::Test {
 protected:
  OutcomeFileTest() {
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
  }
  std::string Text() const { return runtime::ReadFile(path_, 1 << 20).value_or("missing"); }

  const std::string directory_ = testing::TempDir() + "/run";
  const std::string path_ = directory_ + "/outcome.json";
};

TEST_F(OutcomeFileTest, TheFileFollowsTheTrial) {
  EXPECT_TRUE(BringOutcomeUpToDate(directory_, std::nullopt).ok());
  ASSERT_TRUE(BringOutcomeUpToDate(directory_, kDone).ok());
  EXPECT_EQ(Text(), bus::RenderRunOutcome(kDone));
  RunOutcome other = kDone;
  other.ended_us = 2'000'000;
  ASSERT_TRUE(BringOutcomeUpToDate(directory_, other).ok());
  EXPECT_EQ(Text(), bus::RenderRunOutcome(other));
  ASSERT_TRUE(BringOutcomeUpToDate(directory_, std::nullopt).ok());
  EXPECT_EQ(Text(), "missing");
}

TEST_F(OutcomeFileTest, AFileThatSaysSoAlreadyStays) {
  ASSERT_TRUE(BringOutcomeUpToDate(directory_, kDone).ok());
  const auto long_ago = std::filesystem::file_time_type::min();
  std::filesystem::last_write_time(path_, long_ago);
  const auto before = std::filesystem::last_write_time(path_);
  ASSERT_TRUE(BringOutcomeUpToDate(directory_, kDone).ok());
  EXPECT_EQ(std::filesystem::last_write_time(path_), before);
}

TEST_F(OutcomeFileTest, ADirectoryThatIsGoneIsNotMadeAnew) {
  std::filesystem::remove_all(directory_);
  EXPECT_TRUE(BringOutcomeUpToDate(directory_, kDone).ok());
  EXPECT_TRUE(BringOutcomeUpToDate(directory_, std::nullopt).ok());
  EXPECT_FALSE(std::filesystem::exists(directory_));
}

TEST_F(OutcomeFileTest, ADirectoryInItsPlaceIsNamed) {
  std::filesystem::create_directories(path_ + "/taken");
  for (const auto& outcome : {std::optional(kDone), std::optional<RunOutcome>()}) {
    const absl::Status status = BringOutcomeUpToDate(directory_, outcome);
    EXPECT_FALSE(status.ok());
    EXPECT_NE(std::string(status.message()).find(path_), std::string::npos) << status;
  }
}

}  // namespace
}  // namespace trainer
