#include "datamanager/find/directory_source.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <string>

#include "absl/status/status.h"

namespace datamanager {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using Entry = DirectorySource::Entry;

class DirectorySourceTest : public testing::Test {
 protected:
  DirectorySourceTest() {
    char name[] = "/tmp/source-XXXXXX";
    root_ = mkdtemp(name);
  }
  ~DirectorySourceTest() override { std::filesystem::remove_all(root_); }

  std::string Path(const std::string& name) const { return root_ + "/" + name; }
  void Write(const std::string& name, const std::string& content) {
    std::ofstream(Path(name)) << content;
  }
  FileStat Stat(const std::string& name) {
    auto state = source_->Stat(Path(name));
    EXPECT_TRUE(state.ok()) << state.status();
    return state.ok() ? *state : FileStat();
  }

  DirectorySource* const source_ = DirectorySource::Real();
  std::string root_;
};

TEST_F(DirectorySourceTest, LooksAtFilesAndDirectoriesAlsoThroughLinks) {
  Write("file", "12345");
  std::filesystem::create_directory(Path("directory"));
  std::filesystem::create_symlink("file", Path("link"));
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  const FileStat file = Stat("file");
  EXPECT_EQ(file.type, FileStat::Type::kRegular);
  EXPECT_EQ(file.bytes, 5u);
  EXPECT_EQ(Stat("link"), file);
  EXPECT_EQ(Stat("directory").type, FileStat::Type::kDirectory);
  EXPECT_NE(Stat("directory").identity, file.identity);
  EXPECT_EQ(Stat("pipe").type, FileStat::Type::kOther);
}

TEST_F(DirectorySourceTest, TimesAreNanosecondsAndThoseThatDoNotFitTheNearest) {
  Write("file", "");
  const auto set = [&](std::int64_t seconds, long nanoseconds) {
    const timespec times[2] = {{seconds, nanoseconds}, {seconds, nanoseconds}};
    ASSERT_EQ(utimensat(AT_FDCWD, Path("file").c_str(), times, 0), 0);
  };
  set(1'700'000'000, 123'456'789);
  EXPECT_EQ(Stat("file").modified_ns, 1'700'000'000'123'456'789);
  set(-5, 0);
  EXPECT_EQ(Stat("file").modified_ns, -5'000'000'000);
  // The year 2300; ext4 and other file systems store it.
  set(10'413'792'000, 0);
  struct stat info;
  ASSERT_EQ(stat(Path("file").c_str(), &info), 0);
  if (info.st_mtim.tv_sec == 10'413'792'000) {
    EXPECT_EQ(Stat("file").modified_ns, std::numeric_limits<std::int64_t>::max());
  }
}

TEST_F(DirectorySourceTest, ListsEntriesAsTheyAreByThemselves) {
  Write("file", "");
  std::filesystem::create_directory(Path("directory"));
  std::filesystem::create_symlink("directory", Path("link"));
  std::filesystem::create_symlink("nowhere", Path("dangling"));
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  std::map<std::string, Entry> entries;
  ASSERT_TRUE(source_
                  ->List(root_, [&](std::string_view name,
                                    Entry type) { entries[std::string(name)] = type; })
                  .ok());
  EXPECT_THAT(entries,
              ElementsAre(Pair("dangling", Entry::kLink), Pair("directory", Entry::kDirectory),
                          Pair("file", Entry::kRegular), Pair("link", Entry::kLink),
                          Pair("pipe", Entry::kOther)));
}

TEST_F(DirectorySourceTest, FromBelowADirectoryEverythingLooksTheSame) {
  std::filesystem::create_directory(Path("directory"));
  Write("directory/file", "12345");
  const std::string outside = root_ + "2";
  for (const std::string& root : {root_, root_ + "/"}) {
    const auto below = source_->Below(root);
    ASSERT_NE(below, nullptr);
    for (const std::string& path :
         {root_, root_ + "/", Path("directory"), Path("directory/file"), Path("/directory/file"),
          Path("nowhere"), Path("directory/file/x"), outside}) {
      const auto there = source_->Stat(path), here = below->Stat(path);
      EXPECT_EQ(here.status(), there.status());
      if (here.ok() && there.ok()) {
        EXPECT_EQ(*here, *there) << path;
      }
    }
  }
  EXPECT_EQ(source_->Below(Path("nowhere")), nullptr);
  EXPECT_EQ(source_->Below(Path("directory/file")), nullptr);
}

TEST_F(DirectorySourceTest, ErrorsNameThePathAndTheReason) {
  Write("file", "");
  std::filesystem::create_symlink("loop", Path("loop"));
  const auto unused = [](std::string_view, Entry) { FAIL(); };
  for (const std::string name : {"nowhere", "file/below", "loop"}) {
    const absl::Status status = source_->Stat(Path(name)).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kNotFound) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("cannot look at " + Path(name) + ": "));
    EXPECT_EQ(source_->List(Path(name), unused).code(), absl::StatusCode::kNotFound);
  }
  const absl::Status no_directory = source_->List(Path("file"), unused);
  EXPECT_EQ(no_directory.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(no_directory.message()), HasSubstr("cannot list " + Path("file") + ": "));
  const absl::Status too_long = source_->Stat(Path(std::string(5000, 'a'))).status();
  EXPECT_EQ(too_long.code(), absl::StatusCode::kInvalidArgument) << too_long;
}

}  // namespace
}  // namespace datamanager
