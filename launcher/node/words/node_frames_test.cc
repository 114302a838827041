// Tests that frames over a socket pair are complete, ordered and bounded, and that the end of the
// peer is reported.

#include "launcher/node/words/node_frames.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/clock.h"
#include "runtime/event_loop.h"
#include "runtime/fake_clock.h"
#include "runtime/file/unique_fd.h"

namespace launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Time after which a test gives up.
constexpr absl::Duration kLong = absl::Seconds(30);

std::string Framed(std::string_view frame) {
  std::string bytes;
  for (int i = 0; i < 4; ++i) bytes += static_cast<char>((frame.size() >> (8 * i)) & 0xff);
  return bytes.append(frame);
}

class NodeFramesTest : public testing::Test {
 protected:
  NodeFramesTest() {
    int fds[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    peer_ = runtime::UniqueFd(fds[1]);
    Open(runtime::UniqueFd(fds[0]));
  }
  void Open(runtime::UniqueFd socket) {
    frames_ =
        std::make_unique<NodeFrames>(loop_.get(), std::move(socket),
                                     NodeFrames::Callbacks{.on_frame =
                                                               [this](std::string_view frame) {
                                                                 heard_.emplace_back(frame);
                                                                 if (until_ && until_())
                                                                   loop_->Stop();
                                                               },
                                                           .on_closed =
                                                               [this](const absl::Status& why) {
                                                                 why_ = why;
                                                                 loop_->Stop();
                                                               }});
  }
  void Say(std::string_view bytes) const {
    ASSERT_EQ(write(peer_.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }
  void Run() {
    loop_->RunAfter(kLong, [this] { loop_->Stop(); });
    loop_->Run();
  }

  runtime::FakeClock clock_;
  std::unique_ptr<runtime::EventLoop> loop_ = runtime::EventLoop::Create();
  runtime::UniqueFd peer_;
  std::unique_ptr<NodeFrames> frames_;
  std::vector<std::string> heard_;
  std::function<bool()> until_;
  absl::Status why_;
};

TEST_F(NodeFramesTest, FramesComeWholeAndInOrderHoweverTheyAreCut) {
  const std::string large(200'000, 'x');
  const std::string bytes =
      Framed("one") + Framed("") + Framed(std::string("t\0o", 3)) + Framed(large) + Framed("last");
  std::size_t said = 0;
  std::function<void()> say = [&] {
    const std::size_t piece = said < 20 ? 1 : 30'000;
    Say(std::string_view(bytes).substr(said, piece));
    said += piece;
    if (said < bytes.size()) loop_->Post(say);
  };
  loop_->Post(say);
  until_ = [&] { return heard_.back() == "last"; };
  Run();
  EXPECT_THAT(heard_, ElementsAre("one", std::string("t\0o", 3), large, "last"));
}

TEST_F(NodeFramesTest, WhatThePeerDoesNotReadYetIsKept) {
  const std::string frame(3 << 20, 'y');
  frames_->Send(frame);
  EXPECT_GT(frames_->unsent(), 0u);
  std::string got;
  std::function<void()> read_some = [&] {
    char buffer[1 << 16];
    const ssize_t count = recv(peer_.get(), buffer, sizeof(buffer), MSG_DONTWAIT);
    if (count > 0) got.append(buffer, static_cast<std::size_t>(count));
    if (got.size() < frame.size() + 4) return loop_->Post(read_some);
    loop_->Stop();
  };
  loop_->Post(read_some);
  Run();
  EXPECT_EQ(got, Framed(frame));
  EXPECT_EQ(frames_->unsent(), 0u);
}

TEST_F(NodeFramesTest, APeerThatNeverReadsIsGivenUp) {
  const std::string frame(NodeFrames::kMaxFrame, 'z');
  for (std::size_t sent = 0; sent <= NodeFrames::kMaxUnsent + frame.size(); sent += frame.size()) {
    frames_->Send(frame);
  }
  Run();
  EXPECT_EQ(why_.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(why_.message()), HasSubstr("does not read"));
  frames_->Send("more");
  EXPECT_EQ(frames_->unsent(), 0u);
}

TEST_F(NodeFramesTest, AFrameOverTheLimitEndsTheConnectionBeforeItIsKept) {
  Say(std::string("\xff\xff\xff\x7f", 4) + "never read");
  Run();
  EXPECT_EQ(why_.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(heard_.empty());
}

TEST_F(NodeFramesTest, TheEndComesAfterWhatWasSaidBeforeIt) {
  Say(Framed("goodbye") + "\5");
  peer_.reset();
  Run();
  EXPECT_THAT(heard_, ElementsAre("goodbye"));
  EXPECT_EQ(why_.code(), absl::StatusCode::kUnavailable);
}

TEST_F(NodeFramesTest, ItMayBeDestroyedByAFrame) {
  Say(Framed("first") + Framed("second"));
  until_ = [this] {
    frames_.reset();
    return true;
  };
  Run();
  EXPECT_THAT(heard_, ElementsAre("first"));
}

TEST_F(NodeFramesTest, ASilentPeerIsGivenUpAndHearsBeatsBefore) {
  frames_.reset();
  loop_ = runtime::EventLoop::Create(&clock_);
  int fds[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
  peer_ = runtime::UniqueFd(fds[1]);
  Open(runtime::UniqueFd(fds[0]));
  std::function<void()> pass = [&] {
    clock_.Advance(NodeFrames::kBeat);
    loop_->RunAfter(absl::ZeroDuration(), pass);
  };
  loop_->Post(pass);
  loop_->Run();
  EXPECT_THAT(std::string(why_.message()), HasSubstr("silent for"));
  char beats[64];
  const ssize_t count = recv(peer_.get(), beats, sizeof(beats), MSG_DONTWAIT);
  EXPECT_GE(count, 4 * (NodeFrames::kMaxSilence / NodeFrames::kBeat));
  EXPECT_EQ(std::string(beats, 4), Framed(""));
}

}  // namespace
}  // namespace launcher
