#include "datamanager/catalog/disk_usage.h"

#include <unistd.h>

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/file/file.h"

namespace datamanager {
namespace {

class DiskUsageTest : public testing::Test {
 protected:
  DiskUsageTest()
      : root_(testing::TempDir() + "/" +
              testing::UnitTest::GetInstance()->current_test_info()->name()) {}
  void Write(const std::string& name, std::size_t bytes) const {
    const std::string path = root_ + "/" + name;
    ASSERT_TRUE(runtime::MakeDirectories(path.substr(0, path.rfind('/'))).ok());
    ASSERT_TRUE(runtime::WriteFileAtomically(path, std::string(bytes, 'x'), 0644, true).ok());
  }
  DiskUsage Measure(const std::set<std::string>& without = {}) const {
    const auto usage = MeasureDisk(root_ + "/run", without, [] { return false; });
    EXPECT_TRUE(usage.ok()) << usage.status();
    return usage.value_or(DiskUsage());
  }

  const std::string root_;
};

TEST_F(DiskUsageTest, EachKindOfFileIsCounted) {
  Write("run/checkpoint_000003/model", 100'000);
  Write("run/checkpoint_000003/deep/optimiser", 50'000);
  Write("run/events.out.tfevents.1.host", 20'000);
  Write("run/worker-0.1.stdout", 10'000);
  Write("run/worker-0.1.stderr", 5'000);
  Write("run/result.json", 3'000);
  const DiskUsage usage = Measure();
  EXPECT_EQ(usage.files, 6U);
  EXPECT_GE(usage.checkpoint_bytes, 150'000U);
  EXPECT_LT(usage.checkpoint_bytes, 250'000U);
  EXPECT_GE(usage.event_bytes, 20'000U);
  EXPECT_GE(usage.log_bytes, 15'000U);
  EXPECT_GE(usage.bytes, usage.checkpoint_bytes + usage.event_bytes + usage.log_bytes + 3'000);
}

TEST_F(DiskUsageTest, RunsBelowItAndTheTrashAreLeftOut) {
  Write("run/result.json", 3'000);
  Write("run/eval/events.out.tfevents.1", 20'000);
  Write("run/.trash/old/result.json", 20'000);
  EXPECT_EQ(Measure().files, 2U);
  EXPECT_EQ(Measure({root_ + "/run/eval"}).files, 1U);
}

TEST_F(DiskUsageTest, AFileOfTwoNamesTakesItsRoomOnceAndALinkTakesNone) {
  Write("run/model", 100'000);
  Write("elsewhere/model", 100'000);
  ASSERT_EQ(link((root_ + "/run/model").c_str(), (root_ + "/run/best").c_str()), 0);
  ASSERT_EQ(symlink((root_ + "/elsewhere").c_str(), (root_ + "/run/link").c_str()), 0);
  const DiskUsage usage = Measure();
  EXPECT_LT(usage.bytes, 150'000U);
  EXPECT_GE(usage.bytes, 100'000U);
}

TEST_F(DiskUsageTest, AHoleTakesNoRoom) {
  Write("run/sparse", 1);
  ASSERT_EQ(truncate((root_ + "/run/sparse").c_str(), 1 << 30), 0);
  EXPECT_LT(Measure().bytes, 100'000U);
}

TEST_F(DiskUsageTest, WhoDoesNotWaitAnyMoreIsNotAnswered) {
  for (int i = 0; i < 1100; ++i) Write("run/" + std::to_string(i), 1);
  EXPECT_EQ(MeasureDisk(root_ + "/run", {}, [] { return true; }).status().code(),
            absl::StatusCode::kCancelled);
  EXPECT_EQ(MeasureDisk(root_ + "/missing", {}, [] { return false; }).status().code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace datamanager
