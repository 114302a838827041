// Tests an attempt on another host; the test acts as the node. Covers the orders, the copied
// output, and the messages after a lost connection, with a new launcher and with a new node.

#include "launcher/node/remote_attempt.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "launcher/node/node_link.h"
#include "launcher/node/words/node_frames.h"
#include "launcher/node/words/node_words.h"
#include "launcher/run/attempt.h"
#include "launcher/wire/shim_protocol.h"
#include "runtime/clock.h"
#include "runtime/event_loop.h"
#include "runtime/fake_clock.h"
#include "runtime/file/file.h"
#include "runtime/file/unique_fd.h"
#include "runtime/thread.h"

namespace launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Order = NodeOrder::Kind;
using News = NodeNews::Kind;

constexpr char kKey[] = "j-abcde.worker-0.1";
constexpr char kNode[] = "node-1";
constexpr absl::Duration kLong = absl::Seconds(30);
constexpr absl::Duration kLostAfter = absl::Minutes(5);

// A file system that hangs until the test releases it.
class HungFiles {
 public:
  std::function<bool(const std::string&, const std::string&)> Write() {
    return [this](const std::string&, const std::string&) {
      ++asked_;
      answers_.get_future().wait();
      return true;
    };
  }
  bool IsAsked() const { return asked_ > 0; }
  void GoOn() { answers_.set_value(); }

 private:
  std::atomic<int> asked_ = 0;
  std::promise<void> answers_;
};

// The loop runs on a separate thread, on which the attempt is used.
class RemoteAttemptTest : public testing::Test {
 protected:
  RemoteAttemptTest() {
    char name[] = "/tmp/ra-XXXXXX";
    directory_ = mkdtemp(name);
    thread_ = std::make_unique<runtime::Thread>("loop", [this] { loop_->Run(); });
    On([this] { OpenLink(); });
  }
  ~RemoteAttemptTest() override {
    On([this] {
      attempt_.reset();
      connection_.reset();
      link_.reset();
    });
    loop_->Stop();
    thread_->Join();
    std::filesystem::remove_all(directory_);
  }

  void On(const std::function<void()>& function) {
    std::promise<void> done;
    loop_->Post([&] {
      function();
      done.set_value();
    });
    done.get_future().wait();
  }
  bool Eventually(const std::function<bool()>& holds) {
    const absl::Time deadline = absl::Now() + kLong;
    for (;;) {
      bool does = false;
      On([&] { does = holds(); });
      if (does || absl::Now() > deadline) return does;
      std::this_thread::yield();
    }
  }

  void OpenLink() {
    link_ = std::make_unique<NodeLink>(
        NodeLink::Options{.loop = loop_.get(), .name = "far", .lost_after = kLostAfter});
  }
  // Connects a node that has these attempts.
  void Connect(const std::string& node = kNode, std::vector<std::string> attempts = {}) {
    On([&] {
      orders_.clear();
      int fds[2];
      ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
      connection_ = std::make_unique<NodeFrames>(
          loop_.get(), runtime::UniqueFd(fds[1]),
          NodeFrames::Callbacks{.on_frame =
                                    [this](std::string_view frame) {
                                      const auto order = NodeOrder::Decode(frame);
                                      ASSERT_TRUE(order) << frame;
                                      orders_.push_back(*order);
                                      Answer(*order);
                                    },
                                .on_closed = [this](const absl::Status&) { cut_ = true; }});
      link_->Take(runtime::UniqueFd(fds[0]));
      connection_->Send(
          NodeHello{.node = node, .host = "far", .attempts = std::move(attempts)}.Encode());
    });
  }
  void Cut() {
    On([this] { connection_.reset(); });
    ASSERT_TRUE(Eventually([this] { return !link_->is_connected(); }));
  }
  // Answers a read like a node, with at most three bytes.
  void Answer(const NodeOrder& order) {
    if (order.kind != Order::kRead || holds_output_) return;
    const std::string& all = order.is_stderr ? stderr_ : stdout_;
    NodeOutput output{
        .attempt = order.attempt, .is_stderr = order.is_stderr, .offset = order.offset};
    if (order.offset < all.size()) output.bytes = all.substr(order.offset, 3);
    connection_->Send(output.Encode());
  }
  void Say(NodeNews news) {
    On([&] {
      news.number = ++said_;
      if (news.attempt.empty()) news.attempt = kKey;
      connection_->Send(news.Encode());
    });
  }
  NodeNews Running() const {
    NodeNews news{.kind = News::kState};
    news.state.phase = ShimPhase::kRunning;
    news.state.pid = 77;
    news.state.stdout_end = stdout_.size();
    news.state.stderr_end = stderr_.size();
    return news;
  }
  NodeNews Over(int code = 0) const {
    NodeNews news = Running();
    news.kind = News::kOver;
    news.state.phase = ShimPhase::kExited;
    news.state.exit_code = code;
    news.how = absl::StrCat("exit code ", code);
    return news;
  }
  int Count(Order kind) const {
    return static_cast<int>(std::count_if(orders_.begin(), orders_.end(),
                                          [&](const auto& order) { return order.kind == kind; }));
  }
  // Makes the attempt a trial whose files are sent along.
  void TakeWorkAlong() {
    std::filesystem::create_directory(Path("run"));
    std::filesystem::create_directory(Path("code"));
    std::ofstream(Path("run/params.json")) << "{}";
    std::ofstream(Path("archive")) << "0123456789";
    spec_.environment = {"YARD_LOGDIR=" + Path("run"), "YARD_CONFIG=" + Path("run/params.json")};
    spec_.working_directory = Path("code");
    work_ = {.path = Path("archive"),
             .sha256 = std::string(64, 'a'),
             .bytes = 10,
             .subdirectory = "sub"};
  }
  // Returns the files in the last kStart.
  NodeFiles FilesOrdered() {
    NodeFiles files;
    On([&] {
      for (const NodeOrder& order : orders_) {
        if (order.kind == Order::kStart) {
          files = NodeFiles::Decode(order.files).value_or(NodeFiles());
        }
      }
    });
    return files;
  }
  std::vector<std::string> In(const std::string& name) const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(Path(name))) {
      names.push_back(entry.path().filename());
    }
    return names;
  }
  bool AwaitOrder(Order kind, int count = 1) {
    return Eventually([&] { return Count(kind) >= count; });
  }

  std::string Path(const std::string& name) const { return directory_ + "/" + name; }
  std::string Content(const std::string& name) const {
    return runtime::ReadFile(Path(name), 1 << 20).value_or("");
  }
  std::unique_ptr<RemoteAttempt> Make() {
    return std::make_unique<RemoteAttempt>(
        RemoteAttempt::Options{.loop = loop_.get(),
                               .node = link_.get(),
                               .key = kKey,
                               .folder = Path("folder"),
                               .stdout_path = Path(stdout_name_),
                               .stderr_path = Path("err"),
                               .spec = [this] { return spec_; },
                               .work = work_,
                               .write_mark = write_mark_},
        Attempt::Callbacks{
            .on_running = [this](const ShimState& state) { running_.push_back(state); },
            .on_ready = [this] { ++ready_; },
            .on_output = [this](const ShimState& state) { outputs_.push_back(state); },
            .on_barrier = [this](const ShimBarrier& barrier) { barriers_.push_back(barrier); },
            .on_over = [this](const AttemptEnd& end) { ends_.push_back(end); },
            .on_left = [this] { ++left_; }});
  }
  void Start() {
    On([this] {
      attempt_ = Make();
      EXPECT_EQ(attempt_->Start(), absl::OkStatus());
    });
  }
  // Simulates a launcher that restarts after a kill with the state on disk.
  void NewLauncher() {
    On([this] {
      attempt_.reset();
      connection_.reset();
      OpenLink();
      running_.clear();
      outputs_.clear();
      attempt_ = Make();
    });
  }
  bool IsOver() {
    return Eventually([this] { return !ends_.empty(); });
  }

  HungFiles hung_;
  runtime::FakeClock clock_;
  std::unique_ptr<runtime::EventLoop> loop_ = runtime::EventLoop::Create(&clock_);
  std::unique_ptr<runtime::Thread> thread_;
  std::string directory_, stdout_name_ = "out";
  std::unique_ptr<NodeLink> link_;
  std::unique_ptr<NodeFrames> connection_;
  std::unique_ptr<RemoteAttempt> attempt_;
  ShimSpec spec_{.argv = {"program"}};
  std::optional<RemoteAttempt::Work> work_;
  std::function<bool(const std::string& path, const std::string& mark)> write_mark_;
  std::string stdout_, stderr_;  // The output on the node.
  bool holds_output_ = false, cut_ = false;
  std::uint64_t said_ = 0;
  std::vector<NodeOrder> orders_;
  std::vector<ShimState> running_, outputs_;
  std::vector<ShimBarrier> barriers_;
  std::vector<AttemptEnd> ends_;
  int ready_ = 0, left_ = 0;
};

TEST_F(RemoteAttemptTest, RunsOnANodeAndItsOutputAndEndComeHere) {
  Start();
  Connect();
  ASSERT_TRUE(AwaitOrder(Order::kStart));
  On([this] {
    for (const NodeOrder& order : orders_) {
      if (order.kind == Order::kStart) {
        EXPECT_EQ(ShimSpec::Decode(order.spec)->argv, std::vector<std::string>{"program"});
      }
    }
    stdout_ = "first line\n";
  });
  NodeNews running = Running();
  running.state.ready = true;
  Say(running);
  ASSERT_TRUE(Eventually([this] { return !outputs_.empty() && outputs_.back().stdout_end == 11; }));
  EXPECT_THAT(running_, SizeIs(1));
  EXPECT_EQ(ready_, 1);
  On([this] {
    stdout_ += "last line\n";
    stderr_ = "a word\n";
  });
  // The end is received before the last output.
  Say(Over(3));
  ASSERT_TRUE(IsOver());
  EXPECT_EQ(Content("out"), "first line\nlast line\n");
  EXPECT_EQ(Content("err"), "a word\n");
  EXPECT_EQ(ends_[0].how, "exit code 3");
  EXPECT_EQ(ends_[0].state.stdout_end, 21u);
  EXPECT_EQ(ends_[0].state.stderr_end, 7u);
  EXPECT_FALSE(ends_[0].lost);
  EXPECT_FALSE(Attempt::IsAcknowledged(Path("folder")));
  On([this] { attempt_->Acknowledge(); });
  ASSERT_TRUE(AwaitOrder(Order::kAcknowledge));
  EXPECT_EQ(left_, 0);
  Say({.kind = News::kLeft});
  ASSERT_TRUE(Eventually([this] { return left_ == 1; }));
  EXPECT_TRUE(Attempt::IsAcknowledged(Path("folder")));
  // All news were acknowledged.
  EXPECT_TRUE(Eventually([this] {
    return std::any_of(orders_.begin(), orders_.end(), [this](const NodeOrder& order) {
      return order.kind == Order::kHeard && order.number == said_;
    });
  }));
}

TEST_F(RemoteAttemptTest, MarksAreThereUntilTheNodeHasLooked) {
  TakeWorkAlong();
  Start();
  Connect();
  ASSERT_TRUE(AwaitOrder(Order::kStart));
  const NodeFiles files = FilesOrdered();
  EXPECT_EQ(files.node, "far");
  EXPECT_EQ(files.config, "{}");
  EXPECT_EQ(files.work, work_->sha256);
  EXPECT_EQ(files.work_bytes, 10u);
  EXPECT_EQ(files.subdirectory, "sub");
  EXPECT_EQ(std::filesystem::path(files.run_mark).parent_path(), Path("run"));
  EXPECT_EQ(std::filesystem::path(files.work_mark).parent_path(), Path("code"));
  EXPECT_EQ(files.mark.size(), 32u);
  EXPECT_EQ(runtime::ReadFile(files.run_mark, 100).value_or(""), files.mark);
  EXPECT_EQ(runtime::ReadFile(files.work_mark, 100).value_or(""), files.mark);
  Say(Running());
  ASSERT_TRUE(Eventually([this] { return !running_.empty(); }));
  EXPECT_TRUE(Eventually([this] {
    return In("run") == std::vector<std::string>{"params.json"} && In("code").empty();
  }));
}

TEST_F(RemoteAttemptTest, IsStoppedWhileTheFileSystemOfItsFilesHangs) {
  write_mark_ = hung_.Write();
  TakeWorkAlong();
  spec_.working_directory = "";
  Start();
  Connect();
  ASSERT_TRUE(Eventually([this] { return hung_.IsAsked(); }));
  On([this] { attempt_->Stop(15, absl::ZeroDuration()); });
  ASSERT_TRUE(IsOver());
  EXPECT_THAT(ends_[0].how, HasSubstr("stopped before node far could start it"));
  EXPECT_FALSE(ends_[0].lost);
  EXPECT_EQ(Count(Order::kStart), 0);
  hung_.GoOn();
  On([this] { attempt_->Acknowledge(); });
  ASSERT_TRUE(AwaitOrder(Order::kDiscard));
  Say({.kind = News::kLeft});
  ASSERT_TRUE(Eventually([this] { return left_ == 1; }));
  EXPECT_EQ(Count(Order::kStart), 0);
}

TEST_F(RemoteAttemptTest, FailsWhenTheFileSystemOfItsFilesDoesNotAnswer) {
  write_mark_ = hung_.Write();
  TakeWorkAlong();
  spec_.working_directory = "";
  Start();
  Connect();
  ASSERT_TRUE(Eventually([this] { return hung_.IsAsked(); }));
  clock_.Advance(absl::Seconds(31));
  ASSERT_TRUE(IsOver());
  EXPECT_THAT(ends_[0].how, HasSubstr(absl::StrCat("the file system of ", Path("run"),
                                                   " has not answered for 30s")));
  EXPECT_EQ(ends_[0].state.failure, ends_[0].how);
  hung_.GoOn();
}

// A node that reconnects gets the order only once the marks are written.
TEST_F(RemoteAttemptTest, ACutWhileMarksAreWrittenWritesNoOthers) {
  write_mark_ = hung_.Write();
  TakeWorkAlong();
  spec_.working_directory = "";
  Start();
  Connect();
  ASSERT_TRUE(Eventually([this] { return hung_.IsAsked(); }));
  Cut();
  Connect();
  EXPECT_TRUE(Eventually([this] { return link_->is_connected(); }));
  EXPECT_EQ(Count(Order::kStart), 0);
  hung_.GoOn();
  ASSERT_TRUE(AwaitOrder(Order::kStart));
  EXPECT_EQ(std::filesystem::path(FilesOrdered().run_mark).parent_path(), Path("run"));
}

TEST_F(RemoteAttemptTest, AJobWithoutARunAndWithoutFilesHasNoMarks) {
  spec_.working_directory = Path("");
  Start();
  Connect();
  ASSERT_TRUE(AwaitOrder(Order::kStart));
  EXPECT_EQ(FilesOrdered().run_mark, "");
  EXPECT_EQ(FilesOrdered().work_mark, "");
}

// The launcher is killed while the node looks for the marks, before the program starts.
TEST_F(RemoteAttemptTest, ANewLauncherKnowsTheMarksOfTheOneBefore) {
  TakeWorkAlong();
  Start();
  Connect();
  ASSERT_TRUE(AwaitOrder(Order::kStart));
  const NodeFiles files = FilesOrdered();
  NewLauncher();
  On([this] { attempt_->Adopt(); });
  Connect(kNode, {kKey});
  ASSERT_TRUE(AwaitOrder(Order::kStart));
  EXPECT_EQ(FilesOrdered(), files);
  NewLauncher();
  // The earlier launcher has stored the end and done nothing else.
  On([this] { attempt_->Acknowledge(); });
  Connect(kNode, {kKey});
  ASSERT_TRUE(AwaitOrder(Order::kDiscard));
  Say({.kind = News::kLeft});
  ASSERT_TRUE(Eventually([this] { return left_ == 1; }));
  EXPECT_THAT(In("run"), ElementsAre("params.json"));
  EXPECT_THAT(In("code"), IsEmpty());
}

TEST_F(RemoteAttemptTest, MarksOfAnAttemptThatIsLostAreRemoved) {
  TakeWorkAlong();
  Start();
  Connect();
  ASSERT_TRUE(AwaitOrder(Order::kStart));
  Connect("another");
  ASSERT_TRUE(IsOver());
  EXPECT_TRUE(Eventually([this] { return In("code").empty(); }));
}

TEST_F(RemoteAttemptTest, GivesTheArchivePieceByPiece) {
  TakeWorkAlong();
  Start();
  Connect();
  ASSERT_TRUE(AwaitOrder(Order::kStart));
  const auto ask = [this](NodeWant want) {
    want.attempt = kKey;
    On([&] { connection_->Send(want.Encode()); });
  };
  ask({.work = work_->sha256, .offset = 4});
  ask({.work = work_->sha256, .offset = 10});
  // No attempt has this archive, so there is no answer.
  ask({.work = std::string(64, 'b'), .offset = 0});
  ask({.work = work_->sha256, .offset = 0});
  ASSERT_TRUE(AwaitOrder(Order::kWork, 3));
  std::filesystem::remove(Path("archive"));
  ask({.work = work_->sha256, .offset = 0});
  ASSERT_TRUE(AwaitOrder(Order::kWork, 4));
  std::vector<NodeOrder> pieces;
  On([&] {
    std::copy_if(orders_.begin(), orders_.end(), std::back_inserter(pieces),
                 [](const auto& order) { return order.kind == Order::kWork; });
  });
  EXPECT_EQ(pieces[0].bytes, "456789");
  EXPECT_EQ(pieces[0].offset, 4u);
  EXPECT_EQ(pieces[1].bytes + pieces[1].line, "");
  EXPECT_EQ(pieces[2].bytes, "0123456789");
  EXPECT_THAT(pieces[3].line, HasSubstr("cannot read the archive " + Path("archive")));
}

TEST_F(RemoteAttemptTest, OutputBeginsWhereTheFileEnded) {
  std::ofstream(Path("out")) << "before\n";
  Start();
  Connect();
  stdout_ = "mine\n";
  Say(Running());
  Say(Over());
  ASSERT_TRUE(IsOver());
  EXPECT_EQ(Content("out"), "before\nmine\n");
  EXPECT_EQ(running_[0].stdout_begin, 7u);
  EXPECT_EQ(ends_[0].state.stdout_begin, 7u);
  EXPECT_EQ(ends_[0].state.stdout_end, 12u);
}

TEST_F(RemoteAttemptTest, AfterACutNothingIsMissingOrTwice) {
  Start();
  Connect();
  On([this] {
    stdout_ = "0123456789";
    holds_output_ = true;
  });
  Say(Running());
  ASSERT_TRUE(AwaitOrder(Order::kRead));
  On([this] { attempt_->Stop(15, absl::Seconds(3)); });
  Cut();
  On([this] { holds_output_ = false; });
  Connect(kNode, {kKey});
  ASSERT_TRUE(AwaitOrder(Order::kStop));
  EXPECT_EQ(Count(Order::kDiscard), 0);
  Say(Running());
  Say(Over());
  Say(Over());
  ASSERT_TRUE(IsOver());
  EXPECT_EQ(Content("out"), stdout_);
  EXPECT_THAT(running_, SizeIs(1));
  EXPECT_THAT(ends_, SizeIs(1));
}

TEST_F(RemoteAttemptTest, ANewLauncherGoesOnWhereTheFilesEnd) {
  Start();
  Connect();
  stdout_ = "0123456789";
  Say(Running());
  ASSERT_TRUE(Eventually([this] { return !outputs_.empty() && outputs_.back().stdout_end == 10; }));
  NewLauncher();
  On([this] {
    stdout_ += "abc";
    attempt_->Adopt();
  });
  Connect(kNode, {kKey});
  Say(Running());
  Say(Over());
  ASSERT_TRUE(IsOver());
  EXPECT_EQ(Content("out"), "0123456789abc");
  EXPECT_THAT(running_, SizeIs(1));
  // The first read requests only new output.
  On([this] {
    const auto read = std::find_if(orders_.begin(), orders_.end(),
                                   [](const auto& order) { return order.kind == Order::kRead; });
    EXPECT_EQ(read->offset, 10u);
  });
}

TEST_F(RemoteAttemptTest, AnAttemptThatNoNodeWasToldOfIsBegunByANewLauncher) {
  Start();
  NewLauncher();
  On([this] { attempt_->Adopt(); });
  Connect("another");
  EXPECT_TRUE(AwaitOrder(Order::kStart));
}

TEST_F(RemoteAttemptTest, ANodeThatWasStartedAnewIsNeverToldToStartItAgain) {
  Start();
  Connect();
  Say(Running());
  ASSERT_TRUE(Eventually([this] { return !running_.empty(); }));
  Cut();
  Connect("another");
  ASSERT_TRUE(IsOver());
  EXPECT_TRUE(ends_[0].lost);
  EXPECT_THAT(ends_[0].how, HasSubstr("node far was started anew"));
  EXPECT_EQ(Count(Order::kStart), 0);
}

TEST_F(RemoteAttemptTest, ANodeThatStaysAwayHasLostItAndDiscardsItWhenItComes) {
  Start();
  Connect();
  Say(Running());
  ASSERT_TRUE(Eventually([this] { return !running_.empty(); }));
  Cut();
  clock_.Advance(kLostAfter - absl::Seconds(1));
  On([this] { EXPECT_THAT(ends_, IsEmpty()); });
  clock_.Advance(absl::Seconds(1));
  ASSERT_TRUE(IsOver());
  EXPECT_TRUE(ends_[0].lost);
  EXPECT_THAT(ends_[0].how, HasSubstr("node far has been away for 5m"));
  On([this] { attempt_->Acknowledge(); });
  // The attempt may still run on the node.
  Connect(kNode, {kKey});
  ASSERT_TRUE(AwaitOrder(Order::kDiscard));
  EXPECT_EQ(Count(Order::kStart), 0);
  Say({.kind = News::kLeft});
  ASSERT_TRUE(Eventually([this] { return left_ == 1; }));
  On([this] { attempt_.reset(); });
  Cut();
  Connect(kNode, {kKey});
  EXPECT_TRUE(AwaitOrder(Order::kDiscard));
}

TEST_F(RemoteAttemptTest, ABarrierIsAnsweredThere) {
  Start();
  Connect();
  Say(Running());
  NodeNews news{.kind = News::kBarrier};
  news.barrier = {.number = 4, .line = "{}"};
  Say(news);
  ASSERT_TRUE(Eventually([this] { return !barriers_.empty(); }));
  EXPECT_EQ(barriers_[0].number, 4u);
  On([this] {
    attempt_->AnswerBarrier(4, "go");
    EXPECT_TRUE(attempt_->Signal(10));
  });
  ASSERT_TRUE(AwaitOrder(Order::kBarrier));
  ASSERT_TRUE(AwaitOrder(Order::kSignal));
}

TEST_F(RemoteAttemptTest, WhatIsStoppedBeforeANodeCameNeverStarts) {
  Start();
  On([this] {
    EXPECT_FALSE(attempt_->Signal(10));
    attempt_->Stop(15, absl::Seconds(3));
  });
  ASSERT_TRUE(IsOver());
  EXPECT_THAT(ends_[0].how, HasSubstr("before node far could start it"));
  EXPECT_FALSE(ends_[0].success());
  Connect();
  ASSERT_TRUE(AwaitOrder(Order::kWelcome));
  On([this] { attempt_->Acknowledge(); });
  EXPECT_TRUE(AwaitOrder(Order::kDiscard));
  EXPECT_EQ(Count(Order::kStart), 0);
}

TEST_F(RemoteAttemptTest, AFileThatCannotBeWrittenIsTriedAgain) {
  stdout_name_ = "missing/out";
  Start();
  Connect();
  stdout_ = "kept";
  Say(Running());
  Say(Over());
  ASSERT_TRUE(AwaitOrder(Order::kRead));
  // (Waits until the first try has failed.)
  ASSERT_TRUE(Eventually([this] { return Count(Order::kHeard) > 0; }));
  On([this] { EXPECT_THAT(ends_, IsEmpty()); });
  std::filesystem::create_directories(Path("missing"));
  EXPECT_TRUE(Eventually([this] {
    loop_->Post([this] { clock_.Advance(absl::Seconds(1)); });
    return !ends_.empty();
  }));
  EXPECT_EQ(Content("missing/out"), "kept");
}

TEST_F(RemoteAttemptTest, WhatNobodyAskedForChangesNothing) {
  Start();
  Connect();
  stdout_ = "abc";
  Say(Running());
  ASSERT_TRUE(Eventually([this] { return !outputs_.empty(); }));
  On([this] {
    connection_->Send(NodeOutput{.attempt = kKey, .offset = 3, .bytes = "unasked"}.Encode());
    connection_->Send(NodeOutput{.attempt = "other", .offset = 0, .bytes = "x"}.Encode());
    connection_->Send("no record at all");
  });
  Say({.attempt = "other", .kind = News::kLeft});
  Say(Over());
  ASSERT_TRUE(IsOver());
  EXPECT_EQ(Content("out"), "abc");
}

TEST_F(RemoteAttemptTest, ANodeOfAnotherVersionIsToldWhy) {
  Start();
  On([this] {
    int fds[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    connection_ = std::make_unique<NodeFrames>(
        loop_.get(), runtime::UniqueFd(fds[1]),
        NodeFrames::Callbacks{
            .on_frame =
                [this](std::string_view frame) { orders_.push_back(*NodeOrder::Decode(frame)); },
            .on_closed = [this](const absl::Status&) { cut_ = true; }});
    link_->Take(runtime::UniqueFd(fds[0]));
    connection_->Send(NodeHello{.protocol = 99, .node = kNode}.Encode());
  });
  ASSERT_TRUE(Eventually([this] { return cut_; }));
  On([this] {
    ASSERT_THAT(orders_, SizeIs(1));
    EXPECT_EQ(orders_[0].kind, Order::kRefuse);
    EXPECT_THAT(orders_[0].line, HasSubstr("version 99"));
    EXPECT_FALSE(link_->is_connected());
  });
}

}  // namespace
}  // namespace launcher
