// Tests the nodes of a launcher.

#include "launcher/node/node_table.h"

#include <stdlib.h>
#include <sys/socket.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "launcher/fixtures/shim_fixture.h"
#include "launcher/job/job_store.h"
#include "launcher/job/node_store.h"
#include "launcher/node/node_link.h"
#include "launcher/node/words/node_frames.h"
#include "launcher/node/words/node_words.h"
#include "runtime/event_loop.h"

namespace launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Witness : public NodeLink::Attendant {
 public:
  void OnConnected(const std::string&) override {}
  void OnNews(const NodeNews&) override {}
  void OnBytes(const NodeOutput&) override {}
  void OnLost(const std::string& why) override { lost.push_back(why); }

  std::vector<std::string> lost;
};

class NodeTableTest : public testing::Test {
 protected:
  NodeTableTest() {
    char name[] = "/tmp/nt-XXXXXX";
    directory_ = mkdtemp(name);
    EXPECT_TRUE(JobStore::Open(Database()).ok());  // Creates the tables.
    Open();
  }
  ~NodeTableTest() override {
    peer_.reset();
    table_.reset();
    std::filesystem::remove_all(directory_);
  }
  std::string Database() const { return directory_ + "/launcher.db"; }
  void Open() {
    table_.reset();
    auto store = NodeStore::Open(Database());
    ASSERT_TRUE(store.ok()) << store.status();
    auto table = NodeTable::Open(
        {.loop = loop_.get(), .store = *std::move(store), .directory = directory_ + "/nodes"});
    ASSERT_TRUE(table.ok()) << table.status();
    table_ = *std::move(table);
    table_->OnChange([this](const std::string& node) {
      changes_.push_back(node);
      if (until_ && until_()) loop_->Stop();
    });
    table_->Admit();
  }
  // Connects a node, which sends its hello.
  void Connect(const std::string& node, const std::string& run = "") {
    auto socket = ConnectTo(table_->Socket(node), SOCK_STREAM);
    ASSERT_TRUE(socket.valid());
    peer_ = std::make_unique<NodeFrames>(
        loop_.get(), std::move(socket),
        NodeFrames::Callbacks{.on_frame =
                                  [this](std::string_view frame) {
                                    if (on_answer_) on_answer_(*NodeOrder::Decode(frame));
                                  },
                              .on_closed = [this](const absl::Status&) { peer_ended_ = true; }});
    peer_->Send(NodeHello{.node = "id", .host = "box", .address = "10.0.0.7", .cpus = 8, .run = run}
                    .Encode());
  }
  // Call it once in a test.
  void RunUntil(std::function<bool()> until) {
    until_ = std::move(until);
    const auto timer = loop_->RunAfter(kDeadline, [this] { loop_->Stop(); });
    loop_->Run();
    loop_->Cancel(timer);
    until_ = nullptr;
  }

  std::string directory_;
  std::unique_ptr<runtime::EventLoop> loop_ = runtime::EventLoop::Create();
  std::vector<std::string> changes_;
  std::function<bool()> until_;
  std::unique_ptr<NodeTable> table_;
  std::unique_ptr<NodeFrames> peer_;
  // A node of a run that connects, and an action before that.
  struct Coming {
    std::string node, run;
    std::string refused = {};  // Why it is refused for good; empty if it is welcome.
    std::function<void()> before = {};
  };
  // Plays the steps one after the other. Call it once in a test.
  void Play(const std::vector<Coming>& all) {
    std::size_t at = 0;
    const std::function<void()> next = [&] {
      if (at == all.size()) return loop_->Stop();
      if (all[at].before) all[at].before();
      Connect(all[at].node, all[at].run);
    };
    on_answer_ = [&](const NodeOrder& answer) {
      EXPECT_EQ(answer.for_good, !all[at].refused.empty()) << at;
      EXPECT_EQ(answer.line, all[at].refused) << at;
      ++at;
      loop_->Post(next);
    };
    loop_->Post(next);
    RunUntil(nullptr);
    on_answer_ = nullptr;
    EXPECT_EQ(at, all.size());
  }

  bool peer_ended_ = false;
  std::function<void(const NodeOrder&)> on_answer_;  // Gets the launcher's answer to the peer.
};

TEST_F(NodeTableTest, ANodeIsKnownToTheNextLauncher) {
  const NodeRow row{.name = "a", .pool = "lab", .address = "me@box", .slots = 3, .draining = true};
  ASSERT_EQ(table_->Set(row), absl::OkStatus());
  ASSERT_EQ(table_->Set({.name = "b", .pool = "lab"}), absl::OkStatus());
  EXPECT_THAT(changes_, ElementsAre("a", "b"));
  Open();
  ASSERT_EQ(table_->All().size(), 2U);
  const NodeTable::Info& a = *table_->Find("a");
  EXPECT_EQ(a.row, row);
  EXPECT_FALSE(a.is_connected);
  EXPECT_EQ(a.why, "it has not connected since the launcher started");
  EXPECT_TRUE(std::filesystem::exists(table_->Socket("a")));
  EXPECT_EQ(a.host(), "box");
  EXPECT_EQ(a.slots(), 3U);
  EXPECT_EQ(table_->Find("b")->slots(), 0U);
}

TEST_F(NodeTableTest, ANodeSaysWhatItsHostHas) {
  ASSERT_EQ(table_->Set({.name = "a", .pool = "lab", .address = "box"}), absl::OkStatus());
  EXPECT_EQ(table_->Find("a")->why, "it has not connected yet");
  Connect("a");
  const NodeTable::Info& a = *table_->Find("a");
  bool came = false;
  RunUntil([&] {
    if (came) return !a.is_connected;
    came = a.is_connected;
    EXPECT_EQ(a.why, "");
    EXPECT_EQ(a.slots(), 8U);
    EXPECT_EQ(a.host(), "10.0.0.7");
    loop_->Post([this] { peer_.reset(); });
    return false;
  });
  EXPECT_TRUE(came);
  EXPECT_FALSE(a.is_connected);
  EXPECT_NE(a.why, "");
  EXPECT_EQ(a.slots(), 8U);
}

TEST_F(NodeTableTest, ANodeSaysThatItIsAboutToLeave) {
  ASSERT_EQ(table_->Set({.name = "a", .pool = "lab"}), absl::OkStatus());
  Connect("a");
  const NodeTable::Info& a = *table_->Find("a");
  std::int64_t since_us = 0;
  RunUntil([&] {
    if (a.hello.leaving) return true;
    since_us = a.since_us;
    EXPECT_TRUE(a.is_connected);
    loop_->Post(
        [this] { peer_->Send(NodeHello{.node = "id", .cpus = 8, .leaving = true}.Encode()); });
    return false;
  });
  EXPECT_TRUE(a.hello.leaving);
  EXPECT_TRUE(a.is_connected);
  EXPECT_EQ(a.since_us, since_us);
}

TEST_F(NodeTableTest, ANodeIsInOnePool) {
  ASSERT_EQ(table_->Set({.name = "a", .pool = "lab"}), absl::OkStatus());
  const absl::Status other = table_->Set({.name = "a", .pool = "farm"});
  EXPECT_EQ(other.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(other.message(), "node a is in pool lab; next: yard pool rm lab");
  // Setting the same again is not a change.
  ASSERT_EQ(table_->Set({.name = "a", .pool = "lab"}), absl::OkStatus());
  EXPECT_THAT(changes_, ElementsAre("a"));
}

TEST_F(NodeTableTest, AnAllocationIsOfTheRunWhoseNodeComesFirst) {
  const auto set = [this](const std::string& name, bool draining = false) {
    ASSERT_EQ(table_->Set({.name = name, .pool = "q", .draining = draining, .allocation = "y-q-1"},
                          "Slurm job 17 waits: Priority"),
              absl::OkStatus());
  };
  set("q-1-0");
  set("q-1-1");
  EXPECT_EQ(table_->Find("q-1-0")->told_why, "Slurm job 17 waits: Priority");
  const std::string refused = "run 17.0.b is not the first of y-q-1: run 17.0.a has it";
  Play({
      {"q-1-1", "17.0.a"},
      // Slurm has started the job twice: the other run does not even get the node that has not
      // connected.
      {"q-1-0", "17.0.b", refused},
      {"q-1-0", "17.0.a"},
      // The next launcher remembers the claim.
      {"q-1-1", "17.0.b", refused, [&] { Open(); }},
      {"q-1-1", "17.0.a"},
      // A node that is set again or added later belongs to the same run.
      {"q-1-0", "17.0.b", refused, [&] { set("q-1-0", /*draining=*/true); }},
      {"q-1-2", "17.0.b", refused, [&] { set("q-1-2"); }},
      {"q-1-2", "17.0.a"},
  });
  EXPECT_EQ(table_->Find("q-1-2")->row.run, "17.0.a");
}

TEST_F(NodeTableTest, ANodeOfAnAllocationSaysOfWhichRunItIs) {
  ASSERT_EQ(table_->Set({.name = "q-1-0", .pool = "q", .allocation = "y-q-1"}), absl::OkStatus());
  const std::string refused = "allocation y-q-1 is for nodes that say of which run they are";
  Play({{"q-1-0", "", refused},
        {"q-1-0", "a\nb", refused},
        {"q-1-0", std::string(1000, 'r'), refused},
        {"q-1-0", "17.0.a"}});
}

TEST_F(NodeTableTest, WhatIsNoNameIsRefused) {
  for (const auto& [name, pool] : {std::pair("", "lab"),
                                   {"A", "lab"},
                                   {"a/b", "lab"},
                                   {"a", ""},
                                   {"a", "L"},
                                   {"a", "../lab"}}) {
    EXPECT_EQ(table_->Set({.name = name, .pool = pool}).code(), absl::StatusCode::kInvalidArgument)
        << name << " " << pool;
  }
  EXPECT_EQ(table_->Set({.name = "a", .pool = "lab", .address = "x\ny"}).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(table_->Set({.name = "a", .pool = "lab", .slots = 1'000'000}).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(table_->All(), IsEmpty());
}

TEST_F(NodeTableTest, TheAttemptsOfANodeThatIsRemovedAreLost) {
  ASSERT_EQ(table_->Set({.name = "a", .pool = "lab"}), absl::OkStatus());
  Witness witness;
  NodeLink* const link = table_->Link("a");
  link->Attend("j-1.0.1", &witness);
  Connect("a");
  RunUntil([&] { return table_->Find("a")->is_connected; });
  EXPECT_EQ(table_->Remove("b", "").code(), absl::StatusCode::kNotFound);
  ASSERT_EQ(table_->Remove("a", "it was taken out of its pool"), absl::OkStatus());
  EXPECT_THAT(witness.lost, ElementsAre("it was taken out of its pool"));
  EXPECT_FALSE(link->is_connected());
  EXPECT_EQ(table_->Find("a"), nullptr);
  link->Leave("j-1.0.1");
  Open();
  EXPECT_THAT(table_->All(), IsEmpty());
}

}  // namespace
}  // namespace launcher
