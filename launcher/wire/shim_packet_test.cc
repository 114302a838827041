#include "launcher/wire/shim_packet.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <climits>
#include <string>

#include "gtest/gtest.h"

namespace launcher {
namespace {

class ShimPacketTest : public testing::Test {
 protected:
  ShimPacketTest() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    here_ = runtime::UniqueFd(ends[0]);
    there_ = runtime::UniqueFd(ends[1]);
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    read_ = runtime::UniqueFd(ends[0]);
    write_ = runtime::UniqueFd(ends[1]);
  }

  runtime::UniqueFd here_, there_;
  runtime::UniqueFd read_, write_;  // The ends of a pipe.
};

TEST_F(ShimPacketTest, CarriesATextAndTwoDescriptorsInTheirOrder) {
  const std::string folder(PATH_MAX, 'x');
  ASSERT_TRUE(ShimPacket::Send(here_.get(), folder, {read_.get(), write_.get()}));
  const ShimPacket packet = ShimPacket::Receive(there_.get());
  EXPECT_EQ(packet.text, folder);
  ASSERT_EQ(write(packet.second.get(), "!", 1), 1);
  char byte = 0;
  ASSERT_EQ(read(packet.first.get(), &byte, 1), 1);
  EXPECT_EQ(byte, '!');
  EXPECT_EQ(fcntl(packet.first.get(), F_GETFD), FD_CLOEXEC);
  EXPECT_EQ(fcntl(packet.second.get(), F_GETFD), FD_CLOEXEC);
}

TEST_F(ShimPacketTest, CarriesFewerDescriptors) {
  ASSERT_TRUE(ShimPacket::Send(here_.get(), "one", {read_.get()}));
  ASSERT_TRUE(ShimPacket::Send(here_.get(), "none"));
  const ShimPacket one = ShimPacket::Receive(there_.get());
  EXPECT_EQ(one.text, "one");
  EXPECT_TRUE(one.first.valid());
  EXPECT_FALSE(one.second.valid());
  const ShimPacket none = ShimPacket::Receive(there_.get());
  EXPECT_EQ(none.text, "none");
  EXPECT_FALSE(none.first.valid());
}

TEST_F(ShimPacketTest, SaysWhyThereIsNone) {
  EXPECT_EQ(ShimPacket::Receive(there_.get(), MSG_DONTWAIT).text, "");
  EXPECT_EQ(errno, EAGAIN);
  here_.reset();
  EXPECT_EQ(ShimPacket::Receive(there_.get()).text, "");
  EXPECT_EQ(errno, ECONNRESET);
  EXPECT_FALSE(ShimPacket::Send(there_.get(), "nobody hears it"));
  EXPECT_EQ(errno, EPIPE);
}

}  // namespace
}  // namespace launcher
