#include "bus/access/node_channels.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace bus {
namespace {

using Kind = ChannelMessage::Kind;
using What = NodeChannels::News::What;

TEST(ChannelMessageTest, IsReadAsItWasWritten) {
  const std::string most(kMaxChannelBytes, 'x');
  for (const ChannelMessage& message :
       std::vector<ChannelMessage>{{Kind::kHello, 0, "1 a"},
                                   {Kind::kWelcome},
                                   {Kind::kRefuse, 0, "no"},
                                   {Kind::kOpen, 1, "l"},
                                   {Kind::kOpen, 0xfffefdfc, "t"},
                                   {Kind::kBytes, 3, std::string_view("\0\1", 2)},
                                   {Kind::kBytes, 3, most},
                                   {Kind::kCredit, 3, "\x10"},
                                   {Kind::kClose, 3},
                                   {Kind::kPing}}) {
    const std::string bytes = message.Encode();
    const auto read = ChannelMessage::Decode(bytes);
    ASSERT_TRUE(read.has_value()) << static_cast<int>(message.kind);
    EXPECT_EQ(read->kind, message.kind);
    EXPECT_EQ(read->channel, message.channel);
    EXPECT_EQ(read->text, message.text);
  }
}

TEST(ChannelMessageTest, NothingElseIsOne) {
  const std::string much(kMaxChannelBytes + 1, 'x');
  for (const ChannelMessage& message :
       std::vector<ChannelMessage>{{Kind::kHello, 1, "1 a"},
                                   {Kind::kHello, 0, much},
                                   {Kind::kWelcome, 0, "x"},
                                   {Kind::kOpen, 0, "l"},
                                   {Kind::kOpen, 1, "x"},
                                   {Kind::kOpen, 1, ""},
                                   {Kind::kBytes, 0, "x"},
                                   {Kind::kBytes, 1, ""},
                                   {Kind::kBytes, 1, much},
                                   {Kind::kCredit, 1, "\x11"},
                                   {Kind::kCredit, 1, std::string_view("\0", 1)},
                                   {Kind::kCredit, 1, "\xff"},
                                   {Kind::kClose, 0, ""},
                                   {Kind::kPing, 1},
                                   {static_cast<Kind>(0)},
                                   {static_cast<Kind>(9)}}) {
    EXPECT_FALSE(ChannelMessage::Decode(message.Encode()).has_value())
        << static_cast<int>(message.kind) << " " << message.channel << " " << message.text.size();
  }
  for (std::size_t size = 0; size < 5; ++size) {
    EXPECT_FALSE(ChannelMessage::Decode(std::string(size, '\2')).has_value());
  }
}

TEST(ChannelMessageTest, AGreetingHasANonceAndAName) {
  const NodeGreeting greeting{.nonce = std::string(32, 'a'), .name = "gpu-1"};
  const auto read = NodeGreeting::Decode(greeting.Encode());
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->nonce, greeting.nonce);
  EXPECT_EQ(read->name, "gpu-1");
  EXPECT_FALSE(NodeGreeting::Decode("").has_value());
  EXPECT_FALSE(NodeGreeting::Decode("2 " + greeting.nonce + " gpu-1").has_value());
  EXPECT_FALSE(NodeGreeting::Decode("1 abc gpu-1").has_value());
}

class NodeChannelsTest : public ::testing::Test {
 protected:
  NodeChannels::News Says(NodeChannels& to, Kind kind, std::uint32_t channel,
                          std::string_view text) {
    const auto news = to.Receive({kind, channel, text});
    EXPECT_TRUE(news.ok()) << news.status();
    return news.value_or(NodeChannels::News{});
  }
  static bool Refuses(NodeChannels& channels, const ChannelMessage& message) {
    return absl::IsInvalidArgument(channels.Receive(message).status());
  }

  NodeChannels node_{NodeChannels::End::kNode}, gate_{NodeChannels::End::kGate};
};

TEST_F(NodeChannelsTest, BytesGoBothWaysUntilOneEndCloses) {
  const std::uint32_t channel = *node_.Open();
  EXPECT_EQ(Says(gate_, Kind::kOpen, channel, "l").what, What::kOpened);
  EXPECT_EQ(Says(gate_, Kind::kBytes, channel, "to").text, "to");
  EXPECT_EQ(Says(node_, Kind::kBytes, channel, "fro").text, "fro");
  EXPECT_TRUE(gate_.Close(channel));
  EXPECT_FALSE(gate_.Close(channel));
  // The node has not received the close yet.
  EXPECT_EQ(Says(gate_, Kind::kBytes, channel, "late").what, What::kNothing);
  EXPECT_EQ(Says(node_, Kind::kClose, channel, "").what, What::kClosed);
  EXPECT_FALSE(node_.Has(channel));
  EXPECT_NE(*node_.Open(), channel);
}

TEST_F(NodeChannelsTest, NoMoreIsSentThanHasCredit) {
  const std::uint32_t channel = *node_.Open();
  Says(gate_, Kind::kOpen, channel, "t");
  std::uint32_t sent = 0;
  for (; node_.MaySend(channel); ++sent) {
    node_.NoteSent(channel);
    EXPECT_EQ(Says(gate_, Kind::kBytes, channel, "x").what, What::kBytes);
  }
  EXPECT_EQ(sent, kChannelCredits);
  EXPECT_TRUE(Refuses(gate_, {Kind::kBytes, channel, "x"}));
  std::uint32_t told = 0;
  for (std::uint32_t i = 0; i < sent; ++i) told += gate_.NoteTaken(channel);
  EXPECT_EQ(told, sent);
  const std::string credits(1, static_cast<char>(told));
  EXPECT_EQ(Says(node_, Kind::kCredit, channel, credits).what, What::kRoom);
  EXPECT_TRUE(node_.MaySend(channel));
  EXPECT_TRUE(Refuses(node_, {Kind::kCredit, channel, "\1"}));
}

TEST_F(NodeChannelsTest, CreditsAreToldBeforeTheOtherEndHasNone) {
  const std::uint32_t channel = *node_.Open();
  Says(gate_, Kind::kOpen, channel, "t");
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(node_.MaySend(channel)) << i;
    node_.NoteSent(channel);
    Says(gate_, Kind::kBytes, channel, "x");
    if (const std::uint32_t told = gate_.NoteTaken(channel); told != 0) {
      Says(node_, Kind::kCredit, channel, std::string(1, static_cast<char>(told)));
    }
  }
}

TEST_F(NodeChannelsTest, WhatIsAgainstTheRulesEndsTheConnection) {
  EXPECT_TRUE(Refuses(gate_, {Kind::kBytes, 1, "x"}));
  EXPECT_TRUE(Refuses(gate_, {Kind::kClose, 1, ""}));
  EXPECT_TRUE(Refuses(gate_, {Kind::kHello, 0, "1 "}));
  EXPECT_TRUE(Refuses(gate_, {Kind::kWelcome}));
  EXPECT_TRUE(Refuses(node_, {Kind::kOpen, 1, "l"}));
  Says(gate_, Kind::kOpen, 5, "l");
  EXPECT_TRUE(Refuses(gate_, {Kind::kOpen, 5, "l"}));
  EXPECT_TRUE(Refuses(gate_, {Kind::kOpen, 4, "l"}));
}

TEST_F(NodeChannelsTest, ANodeHasOnlySoManyChannels) {
  for (std::size_t i = 0; i < kMaxChannels; ++i) {
    const auto channel = node_.Open();
    ASSERT_TRUE(channel.ok());
    Says(gate_, Kind::kOpen, *channel, "t");
  }
  EXPECT_TRUE(absl::IsResourceExhausted(node_.Open().status()));
  EXPECT_TRUE(Refuses(gate_, {Kind::kOpen, kMaxChannels + 1, "t"}));
  EXPECT_TRUE(node_.Close(1));
  Says(gate_, Kind::kClose, 1, "");
  EXPECT_EQ(Says(gate_, Kind::kOpen, *node_.Open(), "t").what, What::kOpened);
}

}  // namespace
}  // namespace bus
