#include "trainer/run/run_annotations.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "bus/json/annotations.h"
#include "bus/schema/trainer_generated.h"
#include "runtime/file/file.h"

namespace trainer {
namespace {

std::string NewDirectory(const std::string& name) {
  const std::string directory = testing::TempDir() + "/" + name;
  std::filesystem::remove_all(directory);
  std::filesystem::create_directories(directory);
  return directory;
}

TEST(RunAnnotationsTest, ATrialOfWhichNothingWasSaidHasNoFile) {
  const std::string directory = NewDirectory("silent");
  msg::TrialOptionsT options;
  options.labels = {"of its start"};
  ASSERT_TRUE(BringAnnotationsUpToDate(directory, options).ok());
  EXPECT_TRUE(std::filesystem::is_empty(directory));
}

TEST(RunAnnotationsTest, AFileThatIsBehindOrTornIsWrittenAnew) {
  const std::string directory = NewDirectory("behind");
  msg::TrialOptionsT options;
  SetAnnotations({.labels = {"best"}, .note = "said"}, &options);
  for (const char* text : {"", "{\"labels\": [\"old\"]}", "{\"labels\""}) {
    ASSERT_TRUE(runtime::WriteFileAtomically(directory + "/annotations.json", text, 0644).ok());
    ASSERT_TRUE(BringAnnotationsUpToDate(directory, options).ok());
    const auto read = bus::ReadAnnotations(directory);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, AnnotationsOf(options));
  }
}

TEST(RunAnnotationsTest, ATrialThatHasNoDirectoryYetNeedsNoFile) {
  const std::string directory = NewDirectory("none") + "/run";
  msg::TrialOptionsT options;
  SetAnnotations({.note = "said before it began"}, &options);
  EXPECT_TRUE(BringAnnotationsUpToDate(directory, options).ok());
  EXPECT_FALSE(std::filesystem::exists(directory));
}

}  // namespace
}  // namespace trainer
