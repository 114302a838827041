#include "bus/access/node_channels.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "runtime/text/string_view.h"

namespace bus {
namespace {

constexpr std::size_t kHeadBytes = 5;
constexpr std::size_t kMaxWhy = 512;
constexpr std::size_t kMaxHello = 256;
constexpr std::size_t kNonceDigits = 32;
constexpr std::string_view kVersion = "1 ";
// Credits are granted in batches of this size, so that a sender always has as many left.
constexpr std::uint32_t kTellCredits = kChannelCredits / 2;

using Kind = ChannelMessage::Kind;

bool IsWellFormed(const ChannelMessage& message) {
  const std::size_t size = message.text.size();
  const bool has_channel = message.channel != 0;
  switch (message.kind) {
    case Kind::kHello:
      return !has_channel && size <= kMaxHello;
    case Kind::kWelcome:
    case Kind::kPing:
      return !has_channel && size == 0;
    case Kind::kRefuse:
      return !has_channel && size <= kMaxWhy;
    case Kind::kOpen:
      return has_channel && size == 1 &&
             (message.text[0] == kToLauncher || message.text[0] == kToTrainer);
    case Kind::kBytes:
      return has_channel && size >= 1 && size <= kMaxChannelBytes;
    case Kind::kCredit:
      return has_channel && size == 1 && message.text[0] >= 1 &&
             static_cast<std::uint32_t>(message.text[0]) <= kChannelCredits;
    case Kind::kClose:
      return has_channel && size <= kMaxWhy;
  }
  return false;
}

absl::Status Broken(std::string_view what, std::uint32_t channel) {
  return absl::InvalidArgumentError(absl::StrCat(runtime::Absl(what), ", channel ", channel));
}

}  // namespace

std::string ChannelMessage::Encode() const {
  std::string bytes;
  bytes.reserve(kHeadBytes + text.size());
  bytes += static_cast<char>(kind);
  for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(channel >> shift & 0xff);
  const bool is_why = kind == Kind::kRefuse || kind == Kind::kClose;
  bytes += is_why ? text.substr(0, kMaxWhy) : text;
  return bytes;
}

std::optional<ChannelMessage> ChannelMessage::Decode(std::string_view bytes) {
  if (bytes.size() < kHeadBytes) return std::nullopt;
  ChannelMessage message;
  const auto kind = static_cast<std::uint8_t>(bytes[0]);
  if (kind < static_cast<std::uint8_t>(Kind::kHello) ||
      kind > static_cast<std::uint8_t>(Kind::kPing)) {
    return std::nullopt;
  }
  message.kind = static_cast<Kind>(kind);
  for (std::size_t i = 0; i < 4; ++i) {
    message.channel |= std::uint32_t{static_cast<std::uint8_t>(bytes[1 + i])} << (8 * i);
  }
  message.text = bytes.substr(kHeadBytes);
  if (!IsWellFormed(message)) return std::nullopt;
  return message;
}

std::string NodeGreeting::Encode() const {
  return absl::StrCat(runtime::Absl(kVersion), nonce, " ", name);
}

std::optional<NodeGreeting> NodeGreeting::Decode(std::string_view text) {
  if (!text.starts_with(kVersion)) return std::nullopt;
  text.remove_prefix(kVersion.size());
  if (text.size() <= kNonceDigits || text[kNonceDigits] != ' ') return std::nullopt;
  return NodeGreeting{.nonce = std::string(text.substr(0, kNonceDigits)),
                      .name = std::string(text.substr(kNonceDigits + 1))};
}

absl::StatusOr<NodeChannels::News> NodeChannels::Receive(const ChannelMessage& message) {
  const std::uint32_t number = message.channel;
  switch (message.kind) {
    case Kind::kPing:
      return News{};
    case Kind::kOpen:
      if (end_ != End::kGate) return Broken("only a node opens channels", number);
      if (number <= last_) return Broken("the number of a new channel is not a higher one", number);
      if (size() >= kMaxChannels) return Broken("too many channels", number);
      last_ = number;
      channels_[number];
      return News{News::What::kOpened, number, message.text};
    case Kind::kBytes:
    case Kind::kCredit:
    case Kind::kClose:
      break;
    case Kind::kHello:
    case Kind::kWelcome:
    case Kind::kRefuse:
      return Broken("a greeting amid channels", number);
  }
  if (number > last_) return Broken("no such channel was opened", number);
  const auto found = channels_.find(number);
  // This end has closed the channel, but the other end had not received kClose yet.
  if (found == channels_.end()) return News{};
  Channel& channel = found->second;
  if (message.kind == Kind::kClose) {
    channels_.erase(found);
    return News{News::What::kClosed, number, message.text};
  }
  if (message.kind == Kind::kCredit) {
    const auto more = static_cast<std::uint32_t>(message.text[0]);
    if (channel.credits + more > kChannelCredits) return Broken("too many credits", number);
    const bool had_none = channel.credits == 0;
    channel.credits += more;
    return News{had_none ? News::What::kRoom : News::What::kNothing, number};
  }
  if (channel.received >= kChannelCredits) return Broken("bytes without a credit", number);
  ++channel.received;
  return News{News::What::kBytes, number, message.text};
}

absl::StatusOr<std::uint32_t> NodeChannels::Open() {
  if (size() >= kMaxChannels) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a node has at most ", kMaxChannels, " connections through the gate"));
  }
  if (last_ == std::numeric_limits<std::uint32_t>::max()) {
    return absl::ResourceExhaustedError("this connection to the gate has no more channels");
  }
  channels_[++last_];
  return last_;
}

bool NodeChannels::MaySend(std::uint32_t channel) const {
  const auto found = channels_.find(channel);
  return found != channels_.end() && found->second.credits > 0;
}

void NodeChannels::NoteSent(std::uint32_t channel) { --channels_.at(channel).credits; }

std::uint32_t NodeChannels::NoteTaken(std::uint32_t channel) {
  const auto found = channels_.find(channel);
  if (found == channels_.end() || ++found->second.taken < kTellCredits) return 0;
  const std::uint32_t told = found->second.taken;
  found->second.received -= told;
  found->second.taken = 0;
  return told;
}

}  // namespace bus
