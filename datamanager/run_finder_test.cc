#include "datamanager/run_finder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace datamanager {
namespace {

using ::testing::ElementsAre;

class RunFinderTest : public testing::Test {
 protected:
  RunFinderTest() {
    char name[] = "/tmp/find-XXXXXX";
    root_ = mkdtemp(name);
  }
  ~RunFinderTest() override { std::filesystem::remove_all(root_); }

  void Touch(const std::string& path) {
    const std::filesystem::path full = root_ + "/" + path;
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full) << "";
  }
  std::vector<std::string> Names() {
    std::vector<std::string> names;
    const auto found = FindRuns(root_);
    EXPECT_TRUE(found.ok()) << found.status();
    if (!found.ok()) return names;
    for (const FoundRun& run : found->runs) names.push_back(run.name);
    return names;
  }

  std::string root_;
};

TEST_F(RunFinderTest, ARunIsADirectoryWithAnEventFileAtAnyDepth) {
  Touch("events.out.tfevents.1.host");
  Touch("b/events.out.tfevents.1.host");
  Touch("a/deep/er/x.tfevents.2");
  Touch("empty/result.json");
  EXPECT_THAT(Names(), ElementsAre(".", "a/deep/er", "b"));
}

TEST_F(RunFinderTest, RemovedRunsAreNone) {
  Touch("a/events.out.tfevents.1.host");
  Touch(".trash/b/events.out.tfevents.1.host");
  Touch("deep/.trash/c/events.out.tfevents.1.host");
  EXPECT_THAT(Names(), ElementsAre("a"));
}

TEST_F(RunFinderTest, FilesOfARunAreSortedAndMarkersLeftOut) {
  Touch("r/events.out.tfevents.2.h");
  Touch("r/events.out.tfevents.1.h");
  Touch("r/events.out.tfevents.3.h.profile-empty");
  std::filesystem::create_directory(root_ + "/r/tfevents-directory");
  const auto found = FindRuns(root_).value();
  ASSERT_EQ(found.runs.size(), 1u);
  EXPECT_THAT(found.runs[0].files,
              ElementsAre("events.out.tfevents.1.h", "events.out.tfevents.2.h"));
  EXPECT_EQ(found.directories.size(), 3u);
}

TEST_F(RunFinderTest, LinksAreFollowedAndLoopsEnd) {
  Touch("real/events.out.tfevents.1.h");
  std::filesystem::create_directory_symlink(root_, root_ + "/real/loop");
  std::filesystem::create_directory_symlink(root_ + "/real", root_ + "/alias");
  EXPECT_THAT(Names(), ElementsAre("alias"));  // The first way in, in the order of names.
}

TEST_F(RunFinderTest, AMissingRootIsNotFound) {
  EXPECT_EQ(FindRuns(root_ + "/nowhere").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(RunFinderTest, ALinkThatLeadsNowhereCostsNothing) {
  Touch("r/events.out.tfevents.1.h");
  std::filesystem::create_symlink("/nonexistent", root_ + "/r/dangling");
  EXPECT_THAT(Names(), ElementsAre("r"));
}

}  // namespace
}  // namespace datamanager
