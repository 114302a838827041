#include "launcher/run/unused_work.h"

#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace launcher {
namespace {

using ::testing::ElementsAre;

TEST(UnusedWorkTest, OnlyWhatIsOldAndOfNoJobIsRemoved) {
  char name[] = "/tmp/unwXXXXXX";
  const std::string directory = mkdtemp(name);
  const auto make = [&](const std::string& file, std::chrono::hours age) {
    std::ofstream(directory + "/" + file) << "x";
    std::filesystem::last_write_time(directory + "/" + file,
                                     std::filesystem::file_time_type::clock::now() - age);
  };
  make("old", std::chrono::hours(25));
  make("old-of-a-job", std::chrono::hours(100));
  make("new", std::chrono::hours(23));
  make(".half-written-before", std::chrono::hours(25));
  make(".half-written-now", std::chrono::hours(0));
  std::filesystem::create_directory(directory + "/sub");
  RemoveUnusedWork(directory, {"old-of-a-job"}, absl::Now());
  std::vector<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    left.push_back(entry.path().filename());
  }
  std::sort(left.begin(), left.end());
  EXPECT_THAT(left, ElementsAre(".half-written-now", "new", "old-of-a-job", "sub"));
  RemoveUnusedWork(directory + "/missing", {}, absl::Now());
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace launcher
