#include "launcher/shim/task_tree.h"

#include <filesystem>
#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "launcher/process/kill_modes.h"
#include "runtime/file/file.h"

namespace launcher {
namespace {

// A tree without control groups of its own, in a group that another program has created and
// limited.
class MemoryGroupTest : public testing::TestWithParam<bool> {
 protected:
  MemoryGroupTest() {
    directory_ =
        std::filesystem::path(testing::TempDir()) /
        std::filesystem::path(testing::UnitTest::GetInstance()->current_test_info()->name())
            .filename();
    std::filesystem::create_directories(directory_);
    Count(3);
    std::string why;
    tree_ = TaskTree::Make(KillMode::kGroup,
                           {.boot = "b",
                            .cgroup2 = {},
                            .memory_group = directory_.string(),
                            .memory_is_2 = GetParam()},
                           "t", &why);
  }
  // Sets the number of processes that the kernel has killed.
  void Count(int kills) {
    const std::string line = "oom_kill " + std::to_string(kills) + "\n";
    const bool is_2 = GetParam();
    const std::string text =
        is_2 ? "low 0\nmax 9\noom 4\n" + line : "oom_kill_disable 0\nunder_oom 0\n" + line;
    const auto path = directory_ / (is_2 ? "memory.events" : "memory.oom_control");
    ASSERT_TRUE(runtime::WriteFileAtomically(path, text, 0644).ok());
  }

  std::filesystem::path directory_;
  std::unique_ptr<TaskTree> tree_;
};

TEST_P(MemoryGroupTest, KillsBeforeItsStartAreNotItsOwn) {
  EXPECT_FALSE(tree_->HadMemoryKill(true));
}

TEST_P(MemoryGroupTest, AMainProcessThatWasKilledTogetherWithACountIsOutOfMemory) {
  Count(4);
  EXPECT_TRUE(tree_->HadMemoryKill(true));
}

TEST_P(MemoryGroupTest, AKillOfSomebodyElseIsNot) {
  Count(4);
  EXPECT_FALSE(tree_->HadMemoryKill(false));
}

TEST_P(MemoryGroupTest, WithoutACountNobodyIsOutOfMemory) {
  std::filesystem::remove_all(directory_);
  EXPECT_FALSE(tree_->HadMemoryKill(true));
}

INSTANTIATE_TEST_SUITE_P(OfVersion, MemoryGroupTest, testing::Values(false, true),
                         [](const auto& info) { return info.param ? "2" : "1"; });

}  // namespace
}  // namespace launcher
