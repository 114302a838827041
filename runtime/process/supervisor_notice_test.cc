#include "runtime/process/supervisor_notice.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/file/unique_fd.h"

namespace runtime {
namespace {

class SupervisorNoticeTest : public ::testing::Test {
 protected:
  ~SupervisorNoticeTest() override { unsetenv("NOTIFY_SOCKET"); }

  // Returns a socket bound to `name`, which has the syntax of $NOTIFY_SOCKET.
  UniqueFd Listen(const std::string& name) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, name.data(), name.size());
    if (name[0] == '@') address.sun_path[0] = '\0';
    UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    EXPECT_EQ(bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), size), 0);
    setenv("NOTIFY_SOCKET", name.c_str(), 1);
    return socket;
  }
  static std::string Heard(const UniqueFd& socket) {
    char buffer[64];
    const ssize_t got = recv(socket.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    return got < 0 ? "nothing" : std::string(buffer, static_cast<std::size_t>(got));
  }
};

TEST_F(SupervisorNoticeTest, ReachesASocketWithAPath) {
  const std::string path = absl::StrCat("/tmp/notice-", getpid());
  const UniqueFd socket = Listen(path);
  EXPECT_TRUE(NotifySupervisor("READY=1").ok());
  EXPECT_EQ(Heard(socket), "READY=1");
  unlink(path.c_str());
  EXPECT_EQ(NotifySupervisor("READY=1").code(), absl::StatusCode::kNotFound);
}

TEST_F(SupervisorNoticeTest, ReachesAnAbstractSocket) {
  const UniqueFd socket = Listen(absl::StrCat("@notice-", getpid()));
  EXPECT_TRUE(NotifySupervisor("STOPPING=1").ok());
  EXPECT_EQ(Heard(socket), "STOPPING=1");
}

TEST_F(SupervisorNoticeTest, NobodyWantsToKnow) {
  unsetenv("NOTIFY_SOCKET");
  EXPECT_TRUE(NotifySupervisor("READY=1").ok());
  setenv("NOTIFY_SOCKET", "", 1);
  EXPECT_TRUE(NotifySupervisor("READY=1").ok());
}

TEST_F(SupervisorNoticeTest, SaysWhatIsWrongWithAnAddress) {
  for (const std::string& address : {std::string("relative"), "/" + std::string(200, 'x')}) {
    setenv("NOTIFY_SOCKET", address.c_str(), 1);
    EXPECT_EQ(NotifySupervisor("READY=1").code(), absl::StatusCode::kInvalidArgument) << address;
  }
}

}  // namespace
}  // namespace runtime
