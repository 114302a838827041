// Tests that messages are encoded without loss, and that malformed ones are rejected.

#include "launcher/node/words/node_words.h"

#include <cstddef>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "launcher/wire/record.h"
#include "launcher/wire/shim_protocol.h"

namespace launcher {
namespace {

TEST(NodeWordsTest, AHelloIsReadAsItWasSaid) {
  const NodeHello hello{.node = "n1",
                        .host = "host\nwith a line",
                        .boot = "b",
                        .uid = 1000,
                        .pid = 7,
                        .version = "1.2",
                        .cpus = 8,
                        .memory_bytes = std::uint64_t{1} << 40,
                        .gpus = {"GPU-1", "GPU-2"},
                        .run = "17.0.b",
                        .leaving = true,
                        .attempts = {"j-abcde.worker-0.1"}};
  EXPECT_EQ(NodeHello::Decode(hello.Encode()), hello);
}

TEST(NodeWordsTest, NewsOfEachKindAreReadAsTheyWereSaid) {
  NodeNews state{.number = 3, .attempt = "a", .kind = NodeNews::Kind::kState};
  state.state.phase = ShimPhase::kRunning;
  state.state.pid = 12;
  state.state.stdout_end = 100;
  NodeNews barrier{.number = 4, .attempt = "a", .kind = NodeNews::Kind::kBarrier};
  barrier.barrier = {.number = 2, .line = std::string("{\"t\":\"barrier\"\0}", 16)};
  NodeNews over{.number = 5,
                .attempt = "a",
                .kind = NodeNews::Kind::kOver,
                .lost = true,
                .shim_lost = true,
                .how = "the shim was killed"};
  over.state.exit_code = 3;
  const NodeNews left{.number = 6, .attempt = "a", .kind = NodeNews::Kind::kLeft};
  const NodeNews probe{.number = 7,
                       .attempt = "a",
                       .kind = NodeNews::Kind::kProbe,
                       .look = "exit code 1",
                       .failed = "it has failed 3 times"};
  for (const NodeNews& news : {state, barrier, over, left, probe}) {
    EXPECT_EQ(NodeNews::Decode(news.Encode()), news) << news.Encode();
  }
}

TEST(NodeWordsTest, OutputIsAnyBytesUpToItsLimit) {
  NodeOutput output{
      .attempt = "a", .is_stderr = true, .offset = 1 << 20, .bytes = std::string("\0\n\xff", 3)};
  EXPECT_EQ(NodeOutput::Decode(output.Encode()), output);
  output.bytes.assign(kMaxNodeOutput, 'x');
  EXPECT_EQ(NodeOutput::Decode(output.Encode()), output);
  output.bytes += 'x';
  EXPECT_EQ(NodeOutput::Decode(output.Encode()), std::nullopt);
}

TEST(NodeWordsTest, OrdersOfEachKindAreReadAsTheyWereSaid) {
  using Kind = NodeOrder::Kind;
  const std::string key = "j-abcde.worker-0.1";
  for (const NodeOrder& order :
       {NodeOrder{.kind = Kind::kWelcome}, NodeOrder{.kind = Kind::kRefuse, .line = "no"},
        NodeOrder{.kind = Kind::kHeard, .number = 9},
        NodeOrder{
            .kind = Kind::kStart, .attempt = key, .spec = ShimSpec{.argv = {"true"}}.Encode()},
        NodeOrder{.kind = Kind::kStop, .attempt = key, .signal = 15, .grace_ms = 3000},
        NodeOrder{.kind = Kind::kSignal, .attempt = key, .signal = 10},
        NodeOrder{.kind = Kind::kBarrier, .attempt = key, .number = 1, .line = "{}"},
        NodeOrder{.kind = Kind::kAcknowledge, .attempt = key},
        NodeOrder{.kind = Kind::kDiscard, .attempt = key},
        NodeOrder{.kind = Kind::kRead, .attempt = key, .is_stderr = true, .offset = 7},
        NodeOrder{.kind = Kind::kStart, .attempt = key, .files = NodeFiles{}.Encode()},
        NodeOrder{.kind = Kind::kStart, .attempt = key, .probe = "p"},
        NodeOrder{.kind = Kind::kStart, .attempt = key, .lets_go = {10'000, 65'535}},
        NodeOrder{.kind = Kind::kUsage, .number = 11},
        NodeOrder{.kind = Kind::kTakePorts, .number = 12, .job = "j-abcde", .count = 3},
        NodeOrder{.kind = Kind::kKeepPorts, .jobs = {"j-abcde", "j-fghij"}},
        NodeOrder{.kind = Kind::kWork,
        .attempt = key,
        .line = "gone",
        .offset = 8,
        .work = std::string(64, 'a'),
        .bytes = std::string("\0\n\xff", 3)}}) {
    EXPECT_EQ(NodeOrder::Decode(order.Encode()), order) << order.Encode();
  }
}

TEST(NodeWordsTest, FilesAndWantsAreReadAsTheyWereSaid) {
  const NodeFiles files{.node = "far",
                        .run_mark = "/runs/r/.yard-1",
                        .work_mark = "/home/p/.yard-1",
                        .mark = "1",
                        .config = "{}",
                        .work = std::string(64, '0'),
                        .work_bytes = kMaxWork,
                        .subdirectory = "a/b..c"};
  EXPECT_EQ(NodeFiles::Decode(files.Encode()), files);
  EXPECT_EQ(NodeFiles::Decode(NodeFiles{}.Encode()), NodeFiles{});
  const NodeWant want{.attempt = "a", .work = files.work, .offset = 5};
  EXPECT_EQ(NodeWant::Decode(want.Encode()), want);
}

// The hash becomes the name of a file on the node, and the subdirectory a path there.
TEST(NodeWordsTest, AHashOrASubdirectoryThatLeadsElsewhereIsRefused) {
  for (const std::string& work :
       {std::string("../x"), std::string(63, 'a'), std::string(64, 'A')}) {
    EXPECT_EQ(NodeFiles::Decode(NodeFiles{.work = work}.Encode()), std::nullopt) << work;
    EXPECT_EQ(NodeWant::Decode(NodeWant{.attempt = "a", .work = work}.Encode()), std::nullopt);
    const NodeOrder piece{.kind = NodeOrder::Kind::kWork, .attempt = "a", .work = work};
    EXPECT_EQ(NodeOrder::Decode(piece.Encode()), std::nullopt) << work;
  }
  for (const std::string& path :
       {std::string("/etc"), std::string(".."), std::string("a/../.."), std::string("a\0b", 3)}) {
    EXPECT_EQ(NodeFiles::Decode(NodeFiles{.subdirectory = path}.Encode()), std::nullopt) << path;
  }
  EXPECT_EQ(NodeFiles::Decode(NodeFiles{.work_bytes = kMaxWork + 1}.Encode()), std::nullopt);
}

// A key becomes the name of a folder on the other host.
TEST(NodeWordsTest, AKeyThatIsNoNameOfAFolderIsRefused) {
  for (const std::string& key :
       {std::string(), std::string(".."), std::string(".a"), std::string("a/b"), std::string("A"),
        std::string("a\0b", 3), std::string(101, 'a')}) {
    EXPECT_FALSE(IsAttemptKey(key)) << key;
    const NodeOrder start{.kind = NodeOrder::Kind::kStart, .attempt = key};
    EXPECT_EQ(NodeOrder::Decode(start.Encode()), std::nullopt) << key;
    EXPECT_EQ(NodeNews::Decode(NodeNews{.attempt = key, .kind = NodeNews::Kind::kLeft}.Encode()),
              std::nullopt);
    EXPECT_EQ(NodeOutput::Decode(NodeOutput{.attempt = key, .bytes = "x"}.Encode()), std::nullopt);
  }
  EXPECT_TRUE(IsAttemptKey(std::string(100, 'a')));
}

TEST(NodeWordsTest, WhatIsNoWordIsRefused) {
  const std::string hello = NodeHello{.node = "n"}.Encode(), order = NodeOrder{}.Encode();
  EXPECT_EQ(NodeHello::Decode(order), std::nullopt);
  EXPECT_EQ(NodeOrder::Decode(hello), std::nullopt);
  for (std::size_t length = 0; length < hello.size(); ++length) {
    EXPECT_EQ(NodeHello::Decode(hello.substr(0, length)).has_value() && length == 0, false);
  }
  Record unknown("order");
  unknown.Add("kind", "fly");
  EXPECT_EQ(NodeOrder::Decode(unknown.Encode()), std::nullopt);
  Record no_state("news");
  no_state.Add("attempt", "a");
  no_state.Add("kind", "state");
  EXPECT_EQ(NodeNews::Decode(no_state.Encode()), std::nullopt);
}

}  // namespace
}  // namespace launcher
