#include "bus/thread/connection_limit.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "bus/call/client.h"
#include "bus/call/service.h"
#include "bus/fixtures/test_yard.h"
#include "bus/schema/registry_methods.h"
#include "bus/thread/node.h"
#include "gtest/gtest.h"
#include "runtime/file/unique_fd.h"

namespace bus {
namespace {

using rpc::Registry;
using runtime::UniqueFd;

class ConnectionLimitTest : public ::testing::Test {
 protected:
  ConnectionLimitTest() {
    service_.Handle<Registry::List>(
        [](const CallContext&, const msg::ListRequestT&) { return msg::ListReplyT(); });
    EXPECT_EQ(service_.Start(), absl::OkStatus());
    EXPECT_EQ(Call(), absl::OkStatus());  // Opens all descriptors that are opened only once.
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0);
  }
  ~ConnectionLimitTest() override { setrlimit(RLIMIT_NOFILE, &before_); }

  absl::Status Call() {
    Client client(node_.get());
    return client.Call<Registry::List>({}, {.timeout = absl::Seconds(20)}).status();
  }
  // Sets the limit so that this process can open `count` more files.
  void LeaveRoomFor(int count) {
    const UniqueFd next(open("/dev/null", O_RDONLY | O_CLOEXEC));
    rlimit limit = before_;
    limit.rlim_cur = static_cast<rlim_t>(next.get() + count);
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  }
  UniqueFd Connect() {
    UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    const std::string path = yard_.directory() + "/registry";
    std::memcpy(address.sun_path, path.data(), path.size());
    if (connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) fd.reset();
    return fd;
  }
  // Returns true if the service accepted the connection: it then sends first.
  static bool IsTaken(const UniqueFd& connection) {
    char byte = 0;
    pollfd ready = {.fd = connection.get(), .events = POLLIN, .revents = 0};
    EXPECT_EQ(poll(&ready, 1, 20'000), 1);
    return recv(connection.get(), &byte, 1, MSG_PEEK) == 1;
  }

  TestYard yard_;
  std::unique_ptr<Node> node_ = yard_.MakeNode("registry");
  Service service_{node_.get(),
                   {.name = "registry", .endpoint = yard_.Address("registry"), .pool = nullptr}};
  rlimit before_ = {};
};

TEST_F(ConnectionLimitTest, MoreConnectionsThanThereAreDescriptorsForAreClosedAtOnce) {
  LeaveRoomFor(100);
  std::vector<UniqueFd> connections;
  bool taken = true;
  while (taken && connections.size() < 100) {
    connections.push_back(Connect());
    ASSERT_TRUE(connections.back().valid()) << "there is none left for us";
    taken = IsTaken(connections.back());
  }
  EXPECT_FALSE(taken);
  EXPECT_GT(connections.size(), 20u);
  const UniqueFd file(open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_TRUE(file.valid()) << "files can still be opened";
  connections.clear();
  setrlimit(RLIMIT_NOFILE, &before_);
  EXPECT_EQ(Call(), absl::OkStatus());
}

TEST_F(ConnectionLimitTest, AConnectionThatComesWhenThereIsNoneLeftIsRefused) {
  LeaveRoomFor(50);
  std::vector<UniqueFd> files, connections;
  bool taken = true;
  // The previous call may still be closing its connections; then one more is accepted.
  for (int tries = 0; taken && tries < 50; ++tries) {
    for (;;) {
      UniqueFd file(open("/dev/null", O_RDONLY | O_CLOEXEC));
      if (!file.valid()) break;
      files.push_back(std::move(file));
    }
    ASSERT_FALSE(files.empty());
    files.pop_back();
    connections.push_back(Connect());
    ASSERT_TRUE(connections.back().valid());
    taken = IsTaken(connections.back());
  }
  EXPECT_FALSE(taken);
  connections.clear();
  files.clear();
  setrlimit(RLIMIT_NOFILE, &before_);
  EXPECT_EQ(Call(), absl::OkStatus());
}

}  // namespace
}  // namespace bus
