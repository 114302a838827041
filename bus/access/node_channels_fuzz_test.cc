// Feeds arbitrary bytes to a NodeChannels as messages of the other end. For every input, a channel
// holds at most as many unread bytes as it gave credits for, and an end has at most as many
// channels as its limit.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "bus/access/node_channels.h"
#include "glog/logging.h"

// Input format: each message is a length byte followed by that many bytes; a length of 0 means that
// the reader takes everything received on all channels. The first byte chooses the end.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  using bus::NodeChannels;
  const bool is_gate = data[0] % 2 == 0;
  NodeChannels channels(is_gate ? NodeChannels::End::kGate : NodeChannels::End::kNode);
  for (int i = 0; !is_gate && i < 3; ++i) CHECK(channels.Open().ok());
  std::map<std::uint32_t, std::uint32_t> waiting;  // Unread kBytes messages of each channel.
  std::string_view rest(reinterpret_cast<const char*>(data + 1), size - 1);
  while (!rest.empty()) {
    const std::size_t length =
        std::min<std::size_t>(static_cast<std::uint8_t>(rest[0]), rest.size() - 1);
    const std::string_view bytes = rest.substr(1, length);
    rest.remove_prefix(1 + length);
    if (length == 0) {
      for (auto& [channel, count] : waiting) {
        for (; count > 0; --count) CHECK(channels.NoteTaken(channel) <= bus::kChannelCredits);
      }
      continue;
    }
    const auto message = bus::ChannelMessage::Decode(bytes);
    if (!message) continue;
    CHECK(message->Encode() == bytes);
    (void)bus::NodeGreeting::Decode(message->text);
    const auto news = channels.Receive(*message);
    if (!news.ok()) return 0;
    switch (news->what) {
      case NodeChannels::News::What::kBytes:
        CHECK(++waiting[news->channel] <= bus::kChannelCredits);
        break;
      case NodeChannels::News::What::kClosed:
        CHECK(!channels.Has(news->channel));
        waiting.erase(news->channel);
        break;
      case NodeChannels::News::What::kOpened:
        CHECK(is_gate && channels.Has(news->channel));
        break;
      default:
        break;
    }
    std::uint32_t sent = 0;
    for (; channels.MaySend(message->channel); ++sent) channels.NoteSent(message->channel);
    CHECK(sent <= bus::kChannelCredits);
    CHECK(channels.size() <= bus::kMaxChannels);
  }
  return 0;
}
