#include "runtime/file/rotated_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/file/file.h"

namespace runtime {
namespace {

using testing::ElementsAre;

class RotatedFileTest : public testing::Test {
 protected:
  RotatedFileTest() {
    char name[] = "/tmp/rotated-XXXXXX";
    directory_ = mkdtemp(name);
  }
  ~RotatedFileTest() override { std::filesystem::remove_all(directory_); }

  std::string Path(const std::string& name) const { return directory_ + "/" + name; }
  std::string Content(const std::string& name) const {
    return ReadFile(Path(name), 1 << 20).value_or("(no file)");
  }
  std::vector<std::string> Files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
      names.push_back(entry.path().filename());
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  std::unique_ptr<RotatedFile> Make(std::uint64_t limit, int kept) {
    auto file = RotatedFile::Open({.path = Path("log"), .limit = limit, .kept = kept});
    EXPECT_EQ(file.status(), absl::OkStatus());
    return *std::move(file);
  }

  std::string directory_;
};

TEST_F(RotatedFileTest, KeepsTheNewestLinesInOrder) {
  const auto file = Make(12, 2);
  for (const char* line :
       {"one\n", "two\n", "six\n", "ten\n", "a line of its own length\n", "b\n"}) {
    file->Append(line);
  }
  EXPECT_THAT(Files(), ElementsAre("log", "log.1", "log.2"));
  EXPECT_EQ(Content("log.2"), "ten\n");
  EXPECT_EQ(Content("log.1"), "a line of its own length\n") << "whole, though over the limit";
  EXPECT_EQ(Content("log"), "b\n");
}

TEST_F(RotatedFileTest, LosesNothingThatItKeeps) {
  const auto file = Make(100, 50);
  std::string written;
  for (int i = 0; i < 500; ++i) {
    const std::string line = absl::StrCat("line ", i, "\n");
    file->Append(line);
    written += line;
  }
  std::string read;
  for (int age = 50; age > 0; --age) {
    const std::string name = absl::StrCat("log.", age);
    if (std::filesystem::exists(Path(name))) read += Content(name);
  }
  EXPECT_EQ(read + Content("log"), written);
}

TEST_F(RotatedFileTest, GoesOnWhereTheFileEnds) {
  Make(8, 1)->Append("one\n");
  Make(8, 1)->Append("two\n");
  EXPECT_EQ(Content("log"), "one\ntwo\n");
  Make(8, 1)->Append("six\n");
  EXPECT_EQ(Content("log.1"), "one\ntwo\n");
  EXPECT_EQ(Content("log"), "six\n");
  struct stat about {};
  ASSERT_EQ(stat(Path("log").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600u);
}

TEST_F(RotatedFileTest, KeepsNoneIfNoneIsToBeKept) {
  const auto file = Make(4, 0);
  file->Append("one\n");
  file->Append("two\n");
  EXPECT_THAT(Files(), ElementsAre("log"));
  EXPECT_EQ(Content("log"), "two\n");
}

TEST_F(RotatedFileTest, IsMadeAnewWhenSomebodyHasMovedIt) {
  const auto file = Make(100, 1);
  file->Append("one\n");
  std::filesystem::rename(Path("log"), Path("mine"));
  file->Append("two\n");
  EXPECT_EQ(Content("mine"), "one\n");
  EXPECT_EQ(Content("log"), "two\n");
  std::filesystem::remove(Path("log"));
  file->Append("six\n");
  EXPECT_EQ(Content("log"), "six\n");
}

TEST_F(RotatedFileTest, GrowsIfThereCanBeNoNewFile) {
  const auto file = Make(4, 1);
  file->Append("one\n");
  // Blocks log.1, so that the old file cannot be moved.
  std::filesystem::create_directories(Path("log.1/x"));
  file->Append("two\n");
  EXPECT_EQ(Content("log"), "one\ntwo\n");
}

TEST_F(RotatedFileTest, WhatHasADescriptorOfItWritesToTheNext) {
  const UniqueFd output(open(Path("log").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600));
  auto file = RotatedFile::Open(
      {.path = Path("log"), .limit = 8, .kept = 1, .descriptors = {output.get()}});
  ASSERT_EQ(file.status(), absl::OkStatus());
  for (const char* line : {"one\n", "two\n", "six\n", "ten\n"}) {
    ASSERT_EQ(WriteAll(output.get(), line), absl::OkStatus());
    (*file)->Look();
  }
  EXPECT_EQ(Content("log.1"), "one\ntwo\nsix\n");
  EXPECT_EQ(Content("log"), "ten\n");
  EXPECT_TRUE(IsOpenOn(output.get(), Path("log")));
  EXPECT_FALSE(IsOpenOn(output.get(), Path("log.1")));
}

TEST_F(RotatedFileTest, NamesWhatCannotBeOpened) {
  const auto file = RotatedFile::Open({.path = Path("none/log"), .limit = 8, .kept = 1});
  EXPECT_EQ(file.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(file.status().message()), testing::HasSubstr(Path("none/log")));
}

}  // namespace
}  // namespace runtime
