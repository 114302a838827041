#include "trainer/trial/trial_starts.h"

#include <stdlib.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "gtest/gtest.h"
#include "runtime/file/file.h"

namespace trainer {
namespace {

class TrialStartsTest : public testing::Test {
 protected:
  TrialStartsTest() {
    char name[] = "/tmp/ts-XXXXXX";
    directory_ = mkdtemp(name);
    checkpoint_ = directory_ + "/run/checkpoint_000001";
    EXPECT_TRUE(runtime::MakeDirectories(checkpoint_ + "/below").ok());
    EXPECT_TRUE(runtime::WriteFileAtomically(checkpoint_ + "/.is_checkpoint", "", 0644).ok());
  }
  ~TrialStartsTest() override { std::filesystem::remove_all(directory_); }

  void AddFrom(std::int64_t number, const std::string& id) {
    TrialSpec spec;
    spec.options.from = id;
    starts_.Add(number, spec);
  }
  void AddRestore(std::int64_t number, const std::string& path) {
    TrialSpec spec;
    spec.options.restore = path;
    starts_.Add(number, spec);
  }
  // Returns the trial; 0 if none matches.
  std::int64_t FromTrial(const std::string& id) const {
    return starts_.FromTrial(id, [](std::int64_t) { return true; }).value_or(0);
  }
  std::int64_t FromDirectory(const std::string& path) const {
    return starts_.FromDirectory(path, [](std::int64_t) { return true; }).value_or(0);
  }

  std::string directory_, checkpoint_;
  TrialStarts starts_;
};

TEST_F(TrialStartsTest, KnowsWhoStartsFromATrial) {
  EXPECT_EQ(FromTrial("t-a"), 0);
  starts_.Add(1, TrialSpec());
  AddFrom(2, "t-a");
  AddFrom(3, "t-a");
  AddFrom(4, "t-ab");
  EXPECT_EQ(FromTrial("t-a"), 2);
  EXPECT_EQ(starts_.FromTrial("t-a", [](std::int64_t number) { return number > 2; }), 3);
  EXPECT_EQ(starts_.FromTrial("t-a", [](std::int64_t number) { return number > 3; }), std::nullopt);
  starts_.Remove(1);
  starts_.Remove(2);
  starts_.Remove(3);
  EXPECT_EQ(FromTrial("t-a"), 0);
  EXPECT_EQ(FromTrial("t-ab"), 4);
}

TEST_F(TrialStartsTest, KnowsWhoRestoresWhatLiesInADirectory) {
  EXPECT_EQ(FromDirectory(checkpoint_), 0);
  AddRestore(7, checkpoint_ + "/below/");
  EXPECT_EQ(FromDirectory(checkpoint_), 7);
  EXPECT_EQ(FromDirectory(directory_ + "/run/"), 7);
  EXPECT_EQ(FromDirectory(checkpoint_ + "0"), 0);
  EXPECT_EQ(FromDirectory(directory_ + "/ru"), 0);
  EXPECT_EQ(FromDirectory(checkpoint_ + "/below"), 0) << "it is the checkpoint that is copied";
  // Names that sort before the entries below the directory.
  AddRestore(8, checkpoint_ + "-x");
  AddRestore(9, directory_ + "/run.old/checkpoint_000001");
  EXPECT_EQ(FromDirectory(directory_ + "/run"), 7);
  starts_.Remove(7);
  EXPECT_EQ(FromDirectory(checkpoint_), 0);
  EXPECT_EQ(FromDirectory(directory_ + "/run"), 8);
  EXPECT_EQ(FromDirectory(directory_ + "/run.old"), 9) << "one that is gone, too";
}

TEST_F(TrialStartsTest, LinksAreTakenForWhatTheyLeadTo) {
  ASSERT_EQ(symlink("run", (directory_ + "/link").c_str()), 0);
  ASSERT_EQ(symlink("checkpoint_000001", (directory_ + "/run/latest").c_str()), 0);
  AddRestore(1, directory_ + "/link/latest");
  EXPECT_EQ(FromDirectory(checkpoint_), 1);
  EXPECT_EQ(FromDirectory(directory_ + "/link/checkpoint_000001"), 1);
  ASSERT_EQ(unlink((directory_ + "/run/latest").c_str()), 0);
  EXPECT_EQ(FromDirectory(checkpoint_), 1);
}

}  // namespace
}  // namespace trainer
