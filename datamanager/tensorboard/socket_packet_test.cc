#include "datamanager/tensorboard/socket_packet.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/file/unique_fd.h"

namespace datamanager::tensorboard {
namespace {

using runtime::UniqueFd;

class SocketPacketTest : public ::testing::Test {
 protected:
  SocketPacketTest() {
    char name[] = "/tmp/packet-XXXXXX";
    directory_ = mkdtemp(name);
  }
  ~SocketPacketTest() override { std::filesystem::remove_all(directory_); }

  std::string directory_;
};

TEST_F(SocketPacketTest, WordsComeBackWhateverIsInThem) {
  const std::vector<std::string> words = {"--logdir=/a b\tc\nd\\", "", "--reload=5", "\xff\"'"};
  const std::string line = LineOf(words);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  EXPECT_EQ(WordsOf(line).value(), words);
  EXPECT_TRUE(absl::IsInvalidArgument(WordsOf("--logdir=x").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(WordsOf("\\q\n").status()));
}

TEST_F(SocketPacketTest, ASocketArrives) {
  const std::string path = directory_ + "/s";
  const UniqueFd listener = ListenForPackets(path).value();
  struct stat about {};
  ASSERT_EQ(stat(path.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600u);
  const UniqueFd client = ConnectForPackets(path).value();
  const UniqueFd server(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  const int sockets[] = {listener.get()};
  ASSERT_TRUE(SendPacket(client.get(), "a line", sockets));
  const auto packet = ReceivePacket(server.get());
  ASSERT_TRUE(packet.has_value());
  EXPECT_EQ(packet->text, "a line");
  ASSERT_EQ(packet->sockets.size(), 1u);
  struct stat here {
  }, there{};
  ASSERT_EQ(fstat(listener.get(), &here), 0);
  ASSERT_EQ(fstat(packet->sockets[0].get(), &there), 0);
  EXPECT_EQ(here.st_ino, there.st_ino);
  shutdown(client.get(), SHUT_WR);
  EXPECT_FALSE(ReceivePacket(server.get()).has_value());
}

TEST_F(SocketPacketTest, WhatIsTooLongIsNotSent) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
  const UniqueFd one(ends[0]), other(ends[1]);
  EXPECT_FALSE(SendPacket(one.get(), std::string(1 << 20, 'x')));
}

TEST_F(SocketPacketTest, NobodyThereIsUnavailable) {
  EXPECT_TRUE(absl::IsUnavailable(ConnectForPackets(directory_ + "/none").status()));
  EXPECT_TRUE(absl::IsUnavailable(ConnectForPackets(std::string(200, 'x')).status()));
}

}  // namespace
}  // namespace datamanager::tensorboard
