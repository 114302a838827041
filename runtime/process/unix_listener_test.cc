#include "runtime/process/unix_listener.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/file/unique_fd.h"

namespace runtime {
namespace {

using ::testing::HasSubstr;

class UnixListenerTest : public testing::Test {
 protected:
  UnixListenerTest() {
    char name[] = "/tmp/ulXXXXXX";
    folder_ = mkdtemp(name);
  }
  ~UnixListenerTest() override { std::filesystem::remove_all(folder_); }
  static bool Connects(const std::string& path) {
    const auto address = UnixAddress(path);
    const UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    return connect(fd.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) == 0;
  }

  std::string folder_;
};

TEST_F(UnixListenerTest, TakesConnectionsOfOurUserAlone) {
  const std::string path = folder_ + "/s";
  const auto listener = ListenAtPath(path, 4);
  ASSERT_TRUE(listener.ok()) << listener.status();
  EXPECT_EQ(accept(listener->get(), nullptr, nullptr), -1);
  EXPECT_EQ(errno, EAGAIN);
  EXPECT_TRUE(Connects(path));
  EXPECT_TRUE(UniqueFd(accept(listener->get(), nullptr, nullptr)).valid());
  struct stat about = {};
  ASSERT_EQ(stat(path.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600u);
}

TEST_F(UnixListenerTest, TakesThePlaceOfTheSocketOfAnEarlierProcess) {
  const std::string path = folder_ + "/s";
  ASSERT_TRUE(ListenAtPath(path, 4).ok());
  EXPECT_FALSE(Connects(path));
  const auto listener = ListenAtPath(path, 4);
  ASSERT_TRUE(listener.ok()) << listener.status();
  EXPECT_TRUE(Connects(path));
}

TEST_F(UnixListenerTest, NamesWhatItCannotDo) {
  const std::string long_path = folder_ + "/" + std::string(108, 'x');
  const absl::Status refused = ListenAtPath(long_path, 4).status();
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_THAT(refused.message(), HasSubstr("(at most 107)"));
  const absl::Status missing = ListenAtPath(folder_ + "/none/s", 4).status();
  EXPECT_TRUE(absl::IsUnavailable(missing)) << missing;
  EXPECT_THAT(missing.message(), HasSubstr("cannot bind " + folder_ + "/none/s"));
}

}  // namespace
}  // namespace runtime
