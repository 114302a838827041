// Tests the sockets on which nodes connect.

#include "launcher/node/node_door.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "launcher/fixtures/shim_fixture.h"
#include "launcher/node/node_link.h"
#include "launcher/node/words/node_frames.h"
#include "launcher/node/words/node_words.h"
#include "runtime/event_loop.h"
#include "runtime/file/unique_fd.h"

namespace launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class NodeDoorTest : public testing::Test {
 protected:
  NodeDoorTest() {
    char name[] = "/tmp/nd-XXXXXX";
    directory_ = mkdtemp(name);
    door_ = std::make_unique<NodeDoor>(
        NodeDoor::Options{.loop = loop_.get(),
                          .directory = directory_ + "/nodes",
                          .on_change = [this](const std::string& node, const absl::Status& why) {
                            changes_.push_back(absl::StrCat(node, why.ok() ? " came" : " went"));
                            if (until_ && until_()) loop_->Stop();
                          }});
  }
  ~NodeDoorTest() override {
    peers_.clear();
    door_.reset();
    std::filesystem::remove_all(directory_);
  }
  std::string Path(const std::string& node) const { return directory_ + "/nodes/" + node; }
  // Connects a node; the door accepts it at once, or later after Admit().
  void Connect(const std::string& node) {
    runtime::UniqueFd socket = ConnectTo(Path(node), SOCK_STREAM);
    ASSERT_TRUE(socket.valid());
    peers_.push_back(std::make_unique<NodeFrames>(loop_.get(), std::move(socket),
                                                  NodeFrames::Callbacks{
                                                      .on_frame = [](std::string_view) {},
                                                      .on_closed = [](const absl::Status&) {},
                                                  }));
    peers_.back()->Send(NodeHello{.node = "id of " + node}.Encode());
  }
  // Call it once in a test.
  void RunUntil(std::function<bool()> until) {
    until_ = std::move(until);
    loop_->RunAfter(kDeadline, [this] { loop_->Stop(); });
    loop_->Run();
  }

  std::string directory_;
  std::unique_ptr<runtime::EventLoop> loop_ = runtime::EventLoop::Create();
  std::vector<std::string> changes_;
  std::function<bool()> until_;
  std::unique_ptr<NodeDoor> door_;
  std::vector<std::unique_ptr<NodeFrames>> peers_;
};

TEST_F(NodeDoorTest, EachNodeHasASocketOfItsOwn) {
  NodeLink* const a = *door_->Open("a");
  NodeLink* const b = *door_->Open("b.example-1");
  EXPECT_NE(a, b);
  EXPECT_EQ(*door_->Open("a"), a);
  EXPECT_EQ(door_->Find("b.example-1"), b);
  EXPECT_EQ(door_->Find("c"), nullptr);
  struct stat status = {};
  ASSERT_EQ(stat((directory_ + "/nodes").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  ASSERT_EQ(stat(Path("a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  door_->Admit();
  Connect("b.example-1");
  RunUntil([this] { return !changes_.empty(); });
  EXPECT_THAT(changes_, ElementsAre("b.example-1 came"));
  EXPECT_EQ(b->hello().node, "id of b.example-1");
  EXPECT_FALSE(a->is_connected());
}

TEST_F(NodeDoorTest, NobodyIsLetInBeforeAllAttemptsAttend) {
  NodeLink* const a = *door_->Open("a");
  Connect("a");
  int turns = 0;
  std::function<void()> turn = [&] {
    EXPECT_THAT(changes_, IsEmpty());
    if (++turns < 100) return loop_->Post(turn);
    door_->Admit();
  };
  loop_->Post(turn);
  RunUntil([this] { return !changes_.empty(); });
  EXPECT_TRUE(a->is_connected());
}

TEST_F(NodeDoorTest, ANodeThatIsNotWantedLeavesNoSocket) {
  ASSERT_TRUE(door_->Open("a").ok());
  ASSERT_TRUE(door_->Open("b").ok());
  door_->Admit();
  door_->Close("a");
  door_->Close("never opened");
  EXPECT_EQ(door_->Find("a"), nullptr);
  EXPECT_FALSE(std::filesystem::exists(Path("a")));
  door_.reset();
  EXPECT_FALSE(std::filesystem::exists(Path("b")));
}

TEST_F(NodeDoorTest, TheSocketOfALauncherThatWasKilledIsReplaced) {
  ASSERT_TRUE(door_->Open("a").ok());
  NodeDoor next({.loop = loop_.get(), .directory = directory_ + "/nodes"});
  EXPECT_EQ(next.Open("a").status(), absl::OkStatus());
  next.Admit();
}

TEST_F(NodeDoorTest, WhatIsNoNameIsRefused) {
  for (const char* name : {"", ".", "../a", "a/b", "A", "user@host"}) {
    EXPECT_EQ(door_->Open(name).status().code(), absl::StatusCode::kInvalidArgument) << name;
  }
  const absl::Status long_one = door_->Open(std::string(100, 'a')).status();
  EXPECT_EQ(long_one.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(long_one.message()), HasSubstr("at most 107"));
}

}  // namespace
}  // namespace launcher
