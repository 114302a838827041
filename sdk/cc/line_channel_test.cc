#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "sdk/cc/yard.h"

namespace yard::internal {
namespace {

using ::testing::HasSubstr;
using ::testing::Optional;

constexpr std::chrono::milliseconds kForever{0};

class LineChannelTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends_), 0);
    channel_.emplace(ends_[0], /*owned=*/true);
  }
  void TearDown() override { ::close(ends_[1]); }

  void Write(std::string_view text) {
    ASSERT_EQ(::send(ends_[1], text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }
  std::string Read() {
    char bytes[4096];
    const ssize_t got = ::recv(ends_[1], bytes, sizeof(bytes), 0);
    return std::string(bytes, got > 0 ? static_cast<std::size_t>(got) : 0);
  }

  int ends_[2];
  std::optional<LineChannel> channel_;
  std::string line_;
};

TEST_F(LineChannelTest, SendsALine) {
  EXPECT_EQ(channel_->Send("abc"), std::nullopt);
  EXPECT_EQ(Read(), "abc\n");
}

TEST_F(LineChannelTest, TakesLinesApart) {
  Write("one\n\ntwo\nthr");
  EXPECT_EQ(channel_->Receive(kForever, &line_), std::nullopt);
  EXPECT_EQ(line_, "one");
  EXPECT_EQ(channel_->Receive(kForever, &line_), std::nullopt);
  EXPECT_EQ(line_, "");
  EXPECT_EQ(channel_->Receive(kForever, &line_), std::nullopt);
  EXPECT_EQ(line_, "two");
  Write("ee\n");
  EXPECT_EQ(channel_->Receive(kForever, &line_), std::nullopt);
  EXPECT_EQ(line_, "three");
}

TEST_F(LineChannelTest, TakesTheLongestLineBothWays) {
  std::string sent(LineChannel::kMaxLine - 1, 'x');
  std::thread echo([&] {
    std::string got;
    while (got.size() < LineChannel::kMaxLine) got += Read();
    for (std::string_view rest = got; !rest.empty();) {
      rest.remove_prefix(::send(ends_[1], rest.data(), rest.size(), MSG_NOSIGNAL));
    }
  });
  EXPECT_EQ(channel_->Send(sent), std::nullopt);
  EXPECT_EQ(channel_->Receive(kForever, &line_), std::nullopt);
  echo.join();
  EXPECT_EQ(line_, sent);
}

TEST_F(LineChannelTest, RefusesALineThatIsTooLongAndGoesOn) {
  EXPECT_THAT(channel_->Send(std::string(LineChannel::kMaxLine, 'x')),
              Optional(HasSubstr("1048577 bytes")));
  EXPECT_EQ(channel_->error(), std::nullopt);
  EXPECT_EQ(channel_->Send("x"), std::nullopt);
  EXPECT_EQ(Read(), "x\n");
}

TEST_F(LineChannelTest, AnEndInTheMiddleOfALineIsAnEnd) {
  Write("half");
  ::shutdown(ends_[1], SHUT_WR);
  EXPECT_THAT(channel_->Receive(kForever, &line_), Optional(HasSubstr("closed")));
}

TEST_F(LineChannelTest, HandsOutWhatCameBeforeTheEnd) {
  Write("whole\n");
  ::shutdown(ends_[1], SHUT_WR);
  EXPECT_EQ(channel_->Receive(kForever, &line_), std::nullopt);
  EXPECT_EQ(line_, "whole");
}

TEST_F(LineChannelTest, KeepsItsFirstError) {
  EXPECT_EQ(channel_->Break("first"), "first");
  EXPECT_EQ(channel_->Break("second"), "first");
  EXPECT_THAT(channel_->Send("x"), Optional(std::string("first")));
  Write("line\n");
  EXPECT_THAT(channel_->Receive(kForever, &line_), Optional(std::string("first")));
}

TEST_F(LineChannelTest, ATimeoutBreaksIt) {
  EXPECT_THAT(channel_->Receive(std::chrono::milliseconds(5), &line_), Optional(HasSubstr("5 ms")));
  EXPECT_NE(channel_->error(), std::nullopt);
}

TEST_F(LineChannelTest, ClosesWhatItOwns) {
  channel_.reset();
  EXPECT_EQ(Read(), "");
  EXPECT_EQ(::fcntl(ends_[0], F_GETFD), -1);
}

}  // namespace
}  // namespace yard::internal
