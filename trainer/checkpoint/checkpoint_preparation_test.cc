#include "trainer/checkpoint/checkpoint_preparation.h"

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "gtest/gtest.h"

namespace trainer {
namespace {

class CheckpointPreparationTest : public testing::Test {
 protected:
  CheckpointPreparationTest() {
    char name[] = "/tmp/cp-XXXXXX";
    directory_ = mkdtemp(name);
  }
  ~CheckpointPreparationTest() override { std::filesystem::remove_all(directory_); }

  // Makes an empty copy.
  CheckpointPreparation::Work Copy() {
    return [this]() -> absl::StatusOr<PreparedCheckpoint> {
      copy_ = *MakeTemporaryCheckpoint(directory_);
      return PreparedCheckpoint{CheckpointManifest(), copy_};
    };
  }
  bool CopyIsThere() const { return std::filesystem::exists(copy_); }
  // Stores the work for the test to run.
  CheckpointPreparation::Background Later() {
    return [this](std::function<void()> work, std::function<void()> done) {
      work_ = std::move(work);
      done_ = std::move(done);
    };
  }

  std::string directory_, copy_;
  std::function<void()> work_, done_;
};

TEST_F(CheckpointPreparationTest, WithoutABackgroundItIsDoneAtOnceAndNobodyIsTold) {
  const CheckpointPreparation preparation(2, 7, Copy(), nullptr, [] { FAIL(); });
  EXPECT_TRUE(preparation.IsFor(2, 7));
  EXPECT_FALSE(preparation.IsFor(2, 8));
  EXPECT_FALSE(preparation.IsFor(1, 7));
  ASSERT_NE(preparation.result(), nullptr);
  EXPECT_EQ((*preparation.result())->copy, copy_);
}

TEST_F(CheckpointPreparationTest, ThereIsNoResultBeforeTheLoopHasHeardOfIt) {
  bool told = false;
  const CheckpointPreparation preparation(1, 1, Copy(), Later(), [&] { told = true; });
  work_();
  EXPECT_EQ(preparation.result(), nullptr);
  EXPECT_FALSE(told);
  done_();
  EXPECT_TRUE(told);
  EXPECT_TRUE(preparation.result()->ok());
}

TEST_F(CheckpointPreparationTest, ACopyThatNobodyWantsAnyMoreIsRemoved) {
  std::optional<CheckpointPreparation> preparation;
  preparation.emplace(1, 1, Copy(), nullptr, nullptr);
  EXPECT_TRUE(CopyIsThere());
  preparation.reset();
  EXPECT_FALSE(CopyIsThere());

  preparation.emplace(1, 2, Copy(), Later(), [] {});
  preparation.reset();
  work_();
  EXPECT_TRUE(CopyIsThere());
  work_ = nullptr;
  done_ = nullptr;
  EXPECT_FALSE(CopyIsThere()) << "also when it was under way, or its end was never told";
}

TEST_F(CheckpointPreparationTest, AnErrorIsItsResult) {
  const CheckpointPreparation preparation(
      1, 1, [] { return absl::DataLossError("torn"); }, nullptr, nullptr);
  EXPECT_EQ(preparation.result()->status().message(), "torn");
}

}  // namespace
}  // namespace trainer
