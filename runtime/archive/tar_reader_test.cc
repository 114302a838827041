#include "runtime/archive/tar_reader.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/archive/tar_writer.h"
#include "runtime/file/file.h"
#include "runtime/file/unique_fd.h"

namespace runtime {
namespace {

using ::testing::HasSubstr;

class TarReaderTest : public testing::Test {
 protected:
  TarReaderTest() {
    char name[] = "/tmp/tarXXXXXX";
    folder_ = mkdtemp(name);
    std::filesystem::create_directory(folder_ + "/in");
  }
  ~TarReaderTest() override { std::filesystem::remove_all(folder_); }

  void File(const std::string& path, const std::string& content, bool is_executable = false) {
    Write(folder_ + "/content", content);
    const UniqueFd fd(open((folder_ + "/content").c_str(), O_RDONLY | O_CLOEXEC));
    ASSERT_EQ(writer_.AddFile(path, fd.get(), content.size(), is_executable), absl::OkStatus());
  }
  void Link(const std::string& path, const std::string& target) {
    ASSERT_EQ(writer_.AddLink(path, target), absl::OkStatus());
  }
  static void Write(const std::string& path, const std::string& content) {
    std::ofstream(path, std::ios::binary) << content;
  }
  absl::Status Unpack(const TarLimits& limits = {}) {
    EXPECT_EQ(writer_.Finish(), absl::OkStatus());
    return UnpackBytes(archive_, limits);
  }
  absl::Status UnpackBytes(const std::string& bytes, const TarLimits& limits = {}) {
    Write(folder_ + "/archive", bytes);
    const UniqueFd fd(open((folder_ + "/archive").c_str(), O_RDONLY | O_CLOEXEC));
    return UnpackTar(fd.get(), folder_ + "/in", limits, &gives_up_);
  }
  std::string Content(const std::string& path) const {
    return ReadFile(folder_ + "/in/" + path, 4 << 20).value_or("(cannot be read)");
  }
  // Verifies that nothing exists besides the test's two directories.
  void ExpectNothingOutside() {
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      EXPECT_THAT(std::string(entry.path().filename()),
                  ::testing::AnyOf("in", "content", "archive"));
    }
  }

  std::string folder_, archive_;
  std::atomic<bool> gives_up_ = false;
  TarWriter writer_{[this](std::string_view bytes) {
    archive_ += bytes;
    return absl::OkStatus();
  }};
};

TEST_F(TarReaderTest, UnpacksAllThatIsWritten) {
  const std::string deep = std::string(90, 'd') + "/" + std::string(90, 'e') + "/f.py";
  const std::string longest =
      std::string(200, 'x') + "/" + std::string(200, 'y') + "/" + std::string(200, 'z');
  File("train.py", "print(1)\n");
  File("tools/go", "#!/bin/sh\n", /*is_executable=*/true);
  File("empty", "");
  File("large", std::string(700'001, 'l'));
  File(deep, "deep");
  File(longest, "longest");
  Link("tools/again", "../train.py");
  Link("far", longest);
  ASSERT_EQ(writer_.AddDirectory("nothing"), absl::OkStatus());
  ASSERT_EQ(Unpack(), absl::OkStatus());
  EXPECT_EQ(Content("train.py"), "print(1)\n");
  EXPECT_EQ(Content("tools/again"), "print(1)\n");
  EXPECT_EQ(Content("empty"), "");
  EXPECT_EQ(Content("large").size(), 700'001u);
  EXPECT_EQ(Content(deep), "deep");
  EXPECT_EQ(Content(longest), "longest");
  EXPECT_EQ(Content("far"), "longest");
  EXPECT_TRUE(std::filesystem::is_directory(folder_ + "/in/nothing"));
  EXPECT_EQ(access((folder_ + "/in/tools/go").c_str(), X_OK), 0);
  EXPECT_NE(access((folder_ + "/in/train.py").c_str(), X_OK), 0);
}

// This host's tar reads the archive too, with names of every length.
TEST_F(TarReaderTest, AnotherTarReadsWhatIsWritten) {
  const std::string longest = std::string(200, 'x') + "/" + std::string(200, 'y');
  File("a", "one");
  File(longest, "two", /*is_executable=*/true);
  Link("b", longest);
  ASSERT_EQ(writer_.Finish(), absl::OkStatus());
  Write(folder_ + "/archive", archive_);
  ASSERT_EQ(system(absl::StrCat("tar -C ", folder_, "/in -xf ", folder_, "/archive").c_str()), 0);
  EXPECT_EQ(Content("a"), "one");
  EXPECT_EQ(Content("b"), "two");
}

TEST_F(TarReaderTest, ReadsWhatAnotherTarWrites) {
  for (const char* const format : {"ustar", "pax"}) {
    std::filesystem::create_directory(folder_ + "/from");
    Write(folder_ + "/from/a", "one");
    std::filesystem::create_symlink("a", folder_ + "/from/b");
    ASSERT_EQ(system(absl::StrCat("tar -C ", folder_, "/from --format=", format, " -cf ", folder_,
                                  "/archive .")
                         .c_str()),
              0);
    const UniqueFd fd(open((folder_ + "/archive").c_str(), O_RDONLY | O_CLOEXEC));
    ASSERT_EQ(UnpackTar(fd.get(), folder_ + "/in", {}), absl::OkStatus()) << format;
    EXPECT_EQ(Content("b"), "one");
    std::filesystem::remove_all(folder_ + "/in");
    std::filesystem::remove_all(folder_ + "/from");
    std::filesystem::create_directory(folder_ + "/in");
  }
}

TEST_F(TarReaderTest, PathsThatLeadOutAreRefused) {
  for (const char* const path : {"/tmp/outside", "../outside", "a/../../outside", "a/..", ".."}) {
    archive_.clear();
    File(path, "x");
    const absl::Status status = Unpack();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << path << ": " << status;
    ExpectNothingOutside();
  }
}

TEST_F(TarReaderTest, LinksThatLeadOutAreRefused) {
  for (const auto& [path, target] : {std::pair("l", ".."),
                                     {"l", "/etc"},
                                     {"l", "../outside"},
                                     {"a/l", "../../outside"},
                                     {"l", "a/../../outside"},
                                     {"a/b/l", "../../../x"},
                                     {"l", ""}}) {
    archive_.clear();
    Link(path, target);
    const absl::Status status = Unpack();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << target << ": " << status;
    EXPECT_FALSE(std::filesystem::is_symlink(folder_ + "/in/" + path));
  }
}

// Each link alone stays inside the directory; together they would lead out of it.
TEST_F(TarReaderTest, ALinkThatLeadsOutThroughAnotherOneIsRefused) {
  Link("a/b/up", "../..");
  Link("a/out", "b/up/..");
  EXPECT_EQ(Unpack().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(TarReaderTest, NothingIsWrittenThroughALink) {
  ASSERT_EQ(symlink(folder_.c_str(), (folder_ + "/in/l").c_str()), 0);
  File("l/outside", "x");
  EXPECT_EQ(Unpack().code(), absl::StatusCode::kInvalidArgument);
  ExpectNothingOutside();
  archive_.clear();
  Write(folder_ + "/kept", "kept");
  ASSERT_EQ(symlink((folder_ + "/kept").c_str(), (folder_ + "/in/m").c_str()), 0);
  File("m", "overwritten");
  EXPECT_EQ(Unpack().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ReadFile(folder_ + "/kept", 100).value_or(""), "kept");
}

TEST_F(TarReaderTest, DevicesHardLinksAndNamesThatComeTwiceAreRefused) {
  for (const char type : {'1', '3', '4', '6', '7', 'L', 'S'}) {
    archive_.clear();
    File("f", "");
    archive_[156] = type;
    unsigned sum = 0;
    for (int i = 0; i < 512; ++i) {
      sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(archive_[i]);
    }
    char octal[8];
    snprintf(octal, sizeof octal, "%06o", sum);
    archive_.replace(148, 7, std::string(octal, 7));
    EXPECT_EQ(Unpack().code(), absl::StatusCode::kInvalidArgument) << type;
  }
  archive_.clear();
  File("twice", "1");
  File("twice", "2");
  EXPECT_EQ(Unpack().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(TarReaderTest, MoreThanTheLimitsIsRefused) {
  File("a", std::string(600, 'a'));
  File("b", std::string(600, 'b'));
  EXPECT_EQ(Unpack({.bytes = 1000}).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/in/b"));
  archive_.clear();
  File("c", "");
  File("d", "");
  EXPECT_EQ(Unpack({.entries = 1}).code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(TarReaderTest, AnArchiveThatIsCutOrSpoiltIsRefused) {
  File("a", std::string(600, 'a'));
  ASSERT_EQ(writer_.Finish(), absl::OkStatus());
  for (std::size_t size = 0; size < 512 + 1024; size += 100) {
    EXPECT_EQ(UnpackBytes(archive_.substr(0, size)).code(), absl::StatusCode::kDataLoss) << size;
    std::filesystem::remove(folder_ + "/in/a");
  }
  archive_[0] = 'b';
  EXPECT_EQ(UnpackBytes(archive_).code(), absl::StatusCode::kDataLoss);
}

TEST_F(TarReaderTest, AnyBytesAreAnErrorAndNothingWorse) {
  std::uint64_t state = 1;
  File("dir/a", "content");
  Link(std::string(150, 'n'), std::string(150, 't'));
  ASSERT_EQ(writer_.Finish(), absl::OkStatus());
  for (int round = 0; round < 300; ++round) {
    std::string bytes = archive_;
    for (int i = 0; i < 4; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      bytes[(state >> 33) % bytes.size()] = static_cast<char>(state >> 56);
    }
    (void)UnpackBytes(bytes);
    ExpectNothingOutside();
    std::filesystem::remove_all(folder_ + "/in");
    std::filesystem::create_directory(folder_ + "/in");
  }
}

TEST_F(TarReaderTest, GivesUpWhenItIsTold) {
  File("a", "x");
  gives_up_ = true;
  EXPECT_EQ(Unpack().code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace runtime
