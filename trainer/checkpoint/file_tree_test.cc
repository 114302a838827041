#include "trainer/checkpoint/file_tree.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/file/file.h"

namespace trainer {
namespace {

using ::testing::ElementsAre;

class FileTreeTest : public testing::Test {
 protected:
  FileTreeTest() {
    char name[] = "/tmp/ft-XXXXXX";
    root_ = mkdtemp(name);
    Put("b/y", "yy");
    Put("b/x", std::string(600'000, 'x'));
    Put("a", "");
  }
  ~FileTreeTest() override { std::filesystem::remove_all(root_); }
  void Put(const std::string& name, const std::string& content) {
    const std::string path = root_ + "/" + name;
    ASSERT_TRUE(runtime::MakeDirectories(path.substr(0, path.find_last_of('/'))).ok());
    ASSERT_TRUE(runtime::WriteFileAtomically(path, content, 0644).ok());
  }

  std::string root_;
};

TEST_F(FileTreeTest, VisitsFilesInOrderAndDirectoriesAfterWhatIsInThem) {
  std::vector<std::string> seen;
  const auto visit = [&](const TreeFile& file) {
    std::size_t size = 0;
    auto status = ReadPieces(file, [&](std::string_view piece) {
      size += piece.size();
      return absl::OkStatus();
    });
    seen.push_back(absl::StrCat(file.name, " ", size));
    return status;
  };
  const auto leave = [&](int) {
    seen.emplace_back("leave");
    return absl::OkStatus();
  };
  ASSERT_TRUE(WalkTree(root_, visit, leave).ok());
  EXPECT_THAT(seen, ElementsAre("a 0", "b/x 600000", "b/y 2", "leave", "leave"));
}

TEST_F(FileTreeTest, TheFirstErrorEndsTheWalk) {
  int visits = 0;
  const absl::Status status = WalkTree(root_, [&](const TreeFile&) {
    ++visits;
    return absl::AbortedError("enough");
  });
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  EXPECT_EQ(visits, 1);
  EXPECT_EQ(WalkTree(root_ + "/none", [](const TreeFile&) { return absl::OkStatus(); }).code(),
            absl::StatusCode::kNotFound);
}

TEST_F(FileTreeTest, HolesAreSkippedByWhoWantsThat) {
  Put("holes/w", "begin");
  std::filesystem::resize_file(root_ + "/holes/w", 1 << 20);
  const auto read = [&](bool skips) {
    std::string content;
    std::uint64_t skipped = 0;
    EXPECT_TRUE(WalkTree(root_ + "/holes", [&](const TreeFile& file) {
                  EXPECT_LT(file.allocated, file.size);
                  const auto take = [&](std::string_view piece) {
                    content += piece;
                    return absl::OkStatus();
                  };
                  const auto skip = [&](std::uint64_t zeros) {
                    content += std::string(zeros, '\0');
                    skipped += zeros;
                    return absl::OkStatus();
                  };
                  return skips ? ReadPieces(file, take, skip) : ReadPieces(file, take);
                }).ok());
    EXPECT_EQ(content, "begin" + std::string((1 << 20) - 5, '\0'));
    return skipped;
  };
  EXPECT_EQ(read(false), 0u);
  EXPECT_GT(read(true), 1u << 19);
}

TEST_F(FileTreeTest, AFileThatChangesIsAnError) {
  for (const char* now : {"yyy", "y", ""}) {
    Put("b/y", "yy");
    const absl::Status status = WalkTree(root_ + "/b", [&](const TreeFile& file) {
      if (file.name != "y") return absl::OkStatus();
      EXPECT_EQ(truncate((root_ + "/b/y").c_str(), static_cast<off_t>(strlen(now))), 0);
      return ReadPieces(file, [](std::string_view) { return absl::OkStatus(); });
    });
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << now;
  }
}

TEST_F(FileTreeTest, NamesStayBelow) {
  for (const char* name : {"a", "a/b", "..a", ".hidden", "a b", "\xC3\xA9"}) {
    EXPECT_TRUE(CheckTreeName(name).ok()) << name;
  }
  for (const std::string& name :
       {std::string(), std::string("/a"), std::string("a/"), std::string("a//b"), std::string(".."),
        std::string("a/../b"), std::string("."), std::string("a/."), std::string("\xC3"),
        std::string("a\0b", 3), std::string(5000, 'a')}) {
    EXPECT_EQ(CheckTreeName(name).code(), absl::StatusCode::kInvalidArgument) << name;
  }
}

TEST_F(FileTreeTest, FindsADirectoryBelowByEveryNameOfTheRoot) {
  ASSERT_TRUE(runtime::MakeDirectories(root_ + "/b/c").ok());
  const std::string alias = root_ + "-alias";
  ASSERT_EQ(symlink(root_.c_str(), alias.c_str()), 0);
  EXPECT_EQ(*DirectoryBelow(root_, "b/c"), root_ + "/b/c");
  EXPECT_EQ(*DirectoryBelow(root_, root_ + "/b/c/"), root_ + "/b/c");
  EXPECT_EQ(*DirectoryBelow(alias, alias + "/b"), alias + "/b");
  EXPECT_EQ(*DirectoryBelow(alias, root_ + "/b"), alias + "/b");
  EXPECT_EQ(DirectoryBelow(root_, "b/none").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(DirectoryBelow(root_, "a").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(DirectoryBelow(root_, root_).status().code(), absl::StatusCode::kInvalidArgument);
  ASSERT_EQ(symlink("b", (root_ + "/link").c_str()), 0);
  EXPECT_EQ(DirectoryBelow(root_, "link").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(DirectoryBelow(root_, "link/c").status().code(), absl::StatusCode::kInvalidArgument);
  unlink(alias.c_str());
}

}  // namespace
}  // namespace trainer
