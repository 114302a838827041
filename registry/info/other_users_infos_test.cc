// Tests two users who share an info directory. Needs root, to switch user.

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "registry/info/info_directory.h"
#include "registry/info/instance_info.h"
#include "runtime/file/locations.h"
#include "runtime/file/unique_fd.h"
#include "runtime/process/subprocess.h"

namespace registry {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class OtherUsersInfosTest : public ::testing::Test {
 protected:
  OtherUsersInfosTest() {
    EXPECT_EQ(geteuid(), 0u) << "this test is for root";
    EXPECT_NE(mkdtemp(temporary_.data()), nullptr);
    EXPECT_EQ(chmod(temporary_.c_str(), 01777), 0);  // Like /tmp.
    directory_ = InfoDirectory(temporary_);
  }
  ~OtherUsersInfosTest() override { std::filesystem::remove_all(temporary_); }

  absl::Status Write(std::int64_t pid) const {
    InstanceInfo info;
    info.pid = pid;
    return directory_.Write(info, "");
  }
  std::string List() const {
    std::string all;
    const auto files = directory_.GetAll();
    if (!files.ok()) return files.status().ToString();
    for (const InfoFile& file : *files) {
      absl::StrAppend(&all, file.info.pid, " by ", file.uid, "\n");
    }
    return all;
  }
  void Chmod(const std::string& path, mode_t mode) { ASSERT_EQ(chmod(path.c_str(), mode), 0); }
  // Returns the output of a program that uid 65534 runs on the directory.
  std::string AsOther(const std::string& doing, std::int64_t pid = 0) const {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    const runtime::UniqueFd in(ends[0]);
    runtime::UniqueFd out(ends[1]);
    const std::string program = runtime::FindBinary("registry/info/other_users_infos").value_or("");
    auto other =
        runtime::Subprocess::Start({.argv = {program, doing, temporary_, absl::StrCat(pid)},
                                    .program = program,
                                    .environment = {"PATH=/usr/bin:/bin"},
                                    .working_directory = "/",
                                    .fds = {{out.get(), 1}}});
    EXPECT_EQ(other.status(), absl::OkStatus());
    if (!other.ok()) return "";
    out = {};
    const auto ended = other->Wait(absl::Seconds(40));
    EXPECT_TRUE(ended.ok() && ended->ok()) << "cannot become another user";
    char text[2000] = {};
    const ssize_t size = read(in.get(), text, sizeof(text) - 1);
    return std::string(text, size > 0 ? static_cast<std::size_t>(size) : 0);
  }
  void ExpectNothingLeft() const {
    for (const auto& entry : std::filesystem::directory_iterator(temporary_)) {
      EXPECT_EQ(entry.path().filename(), ".tensorboard-info");
    }
  }

  std::string temporary_ = "/tmp/info-XXXXXX";
  InfoDirectory directory_{""};
};

TEST_F(OtherUsersInfosTest, BothWriteAndSeeWhoWroteWhat) {
  const mode_t before = umask(077);
  EXPECT_EQ(Write(1), absl::OkStatus());
  umask(before);
  EXPECT_EQ(AsOther("write", 2), "OK");
  EXPECT_EQ(List(), "1 by 0\n2 by 65534\n");
  EXPECT_EQ(AsOther("list"), "1 by 0\n2 by 65534\n");
  EXPECT_EQ(AsOther("remove", 2), "OK");
  EXPECT_EQ(List(), "1 by 0\n");
  ExpectNothingLeft();
}

TEST_F(OtherUsersInfosTest, ADirectoryThatTheOtherMadeIsForUsToo) {
  EXPECT_EQ(AsOther("write", 2), "OK");
  EXPECT_EQ(Write(1), absl::OkStatus());
  EXPECT_EQ(List(), "1 by 0\n2 by 65534\n");
}

TEST_F(OtherUsersInfosTest, WhoMayNotWriteLearnsWhoseDirectoryItIsAndStillReads) {
  ASSERT_EQ(Write(1), absl::OkStatus());
  Chmod(directory_.path(), 0755);
  EXPECT_THAT(AsOther("write", 2),
              AllOf(StartsWith("PERMISSION_DENIED: writing " + directory_.path() + "/pid-2.info"),
                    HasSubstr("belongs to uid 0 and has mode 0755; we are uid 65534")));
  EXPECT_THAT(AsOther("remove", 1),
              AllOf(StartsWith("PERMISSION_DENIED: removing "), HasSubstr("belongs to uid 0")));
  EXPECT_EQ(AsOther("list"), "1 by 0\n");
  EXPECT_EQ(List(), "1 by 0\n");
  ExpectNothingLeft();
}

TEST_F(OtherUsersInfosTest, WhoMayNotReadLearnsWhoseDirectoryItIs) {
  ASSERT_EQ(Write(1), absl::OkStatus());
  Chmod(directory_.path(), 0700);
  EXPECT_THAT(AsOther("list"), AllOf(StartsWith("PERMISSION_DENIED: opening " + directory_.path()),
                                     HasSubstr("belongs to uid 0 and has mode 0700")));
}

TEST_F(OtherUsersInfosTest, AFileThatHeCannotReadIsSkipped) {
  ASSERT_EQ(Write(1), absl::OkStatus());
  ASSERT_EQ(Write(2), absl::OkStatus());
  Chmod(directory_.path() + "/pid-1.info", 0600);
  EXPECT_EQ(AsOther("list"), "2 by 0\n");
  EXPECT_EQ(List(), "1 by 0\n2 by 0\n");
}

TEST_F(OtherUsersInfosTest, AnEndlessDeviceIsSkipped) {
  ASSERT_EQ(Write(1), absl::OkStatus());
  const std::string zero = directory_.path() + "/pid-2.info";
  ASSERT_EQ(mknod(zero.c_str(), S_IFCHR | 0666, makedev(1, 5)), 0) << strerror(errno);
  EXPECT_EQ(List(), "1 by 0\n");
  EXPECT_EQ(AsOther("list"), "1 by 0\n");
  EXPECT_TRUE(absl::IsFailedPrecondition(directory_.Read("pid-2.info").status()));
}

}  // namespace
}  // namespace registry
