// Tests that another user of this machine is refused at the sockets of a task. Needs root to become
// another user.

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "bus/fixtures/as_other_user.h"
#include "launcher/fixtures/shim_fixture.h"
#include "launcher/wire/shim_protocol.h"

namespace launcher {
namespace {

using OtherUserTest = ShimFixture;

TEST_F(OtherUserTest, ATaskThatHeReachesHangsUp) {
  StartShell("read r <&3");
  AwaitPhase(ShimPhase::kRunning);
  ASSERT_EQ(chmod(folder_.c_str(), 0755), 0);
  for (const auto& path : {spec_.control_socket, spec_.task_socket}) {
    ASSERT_EQ(chmod(path.c_str(), 0777), 0);
  }
  EXPECT_EQ(bus::AsOtherUser("stay-for-packets", spec_.control_socket), "hung up\n");
  EXPECT_EQ(bus::AsOtherUser("stay", spec_.task_socket), "hung up\n");
  // Our own user is accepted.
  const auto control = ConnectTo(spec_.control_socket, SOCK_SEQPACKET);
  Send(control, {.kind = ShimRequest::Kind::kState});
  EXPECT_TRUE(Receive(control).has_value());
}

}  // namespace
}  // namespace launcher
