#include "launcher/node/node_ports.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "launcher/share/held_ports.h"
#include "launcher/wire/record.h"
#include "runtime/file/unique_fd.h"

namespace launcher {
namespace {

using ::testing::SizeIs;

bool CanBeBound(int port) {
  const runtime::UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

TEST(NodePortsTest, AJobHasItsPortsUntilItIsNotNamedAnyMore) {
  NodePorts ports({});
  const auto first = ports.Take("j-one", 2);
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_THAT(*first, SizeIs(2));
  // A repeated request returns the same ports; a larger one adds ports after them.
  EXPECT_EQ(*ports.Take("j-one", 2), *first);
  const auto more = ports.Take("j-one", 3);
  ASSERT_TRUE(more.ok());
  EXPECT_EQ((*more)[0], (*first)[0]);
  EXPECT_EQ((*more)[1], (*first)[1]);
  const auto other = ports.Take("j-two", 1);
  ASSERT_TRUE(other.ok());
  EXPECT_THAT(*more, testing::Not(testing::Contains((*other)[0])));
  ports.Keep({"j-one", "j-none"});
  EXPECT_TRUE(CanBeBound((*other)[0]));
  EXPECT_FALSE(CanBeBound((*first)[0]));
  ports.LetGo("j-one", (*first)[0]);
  EXPECT_TRUE(CanBeBound((*first)[0]));
  EXPECT_EQ(*ports.Take("j-one", 2), *first);
  ports.Keep({});
  EXPECT_TRUE(CanBeBound((*first)[1]));
}

TEST(NodePortsTest, ALauncherThatAsksForTooManyIsRefused) {
  NodePorts ports({});
  const auto taken = ports.Take("j-one", NodePortsTaken::kMaxPorts + 1);
  EXPECT_TRUE(absl::IsResourceExhausted(taken.status())) << taken.status();
  EXPECT_TRUE(ports.Take("j-one", 1).ok());
}

TEST(NodePortsTest, TheAnswerIsReadAsItWasSaidAndASpoiltOneIsNone) {
  const NodePortsTaken taken{.number = 4, .ports = {1, 65535}, .why = "all is well"};
  EXPECT_EQ(NodePortsTaken::Decode(taken.Encode()), taken);
  EXPECT_FALSE(NodePortsTaken::Decode(""));
  EXPECT_FALSE(NodePortsTaken::Decode(Record("usage").Encode()));
  EXPECT_FALSE(NodePortsTaken::Decode(NodePortsTaken{.ports = {0}}.Encode()));
  EXPECT_FALSE(NodePortsTaken::Decode(NodePortsTaken{.ports = {65536}}.Encode()));
  EXPECT_FALSE(NodePortsTaken::Decode(
      NodePortsTaken{.ports = std::vector<int>(NodePortsTaken::kMaxPorts + 1, 5)}.Encode()));
}

}  // namespace
}  // namespace launcher
