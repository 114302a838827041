#ifndef BUS_ACCESS_NODE_CHANNELS_H_
#define BUS_ACCESS_NODE_CHANNELS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace bus {

// The words of a node and a gate over one connection, which the key of that node has opened: first
// the node's kHello and the gate's kWelcome (or kRefuse), then channels. Each channel carries the
// bytes of one connection that was made at the node, to a unix socket of the yard. The node's
// messages are ["node"][message], the gate's are [message] (gate_messages.h).

// The name that stands for the channels of a node.
inline constexpr std::string_view kNodeOfGate = "node";

inline constexpr std::size_t kMaxChannelBytes = 64 << 10;  // Limit of one message.
// Messages with bytes that one end of a channel may send before the other one has taken any.
inline constexpr std::uint32_t kChannelCredits = 16;
inline constexpr std::size_t kMaxChannels = 256;  // Limit of one node.

struct ChannelMessage {
  enum class Kind : std::uint8_t {
    kHello = 1,  // Node: "1 NONCE NAME": version, and what the key is bound to.
    kWelcome,    // Gate: channels may be opened.
    kRefuse,     // Gate: why the connection ends.
    kOpen,       // Node: a new channel, to kToLauncher or kToTrainer. Numbers rise.
    kBytes,      // Both: 1 to kMaxChannelBytes bytes.
    kCredit,     // Both: one byte, how many more kBytes were taken.
    kClose,      // Both: the channel has ended, after all its bytes so far; or why it never began.
    kPing,       // Both: nothing.
  };
  Kind kind = Kind::kPing;
  std::uint32_t channel = 0;  // 0: the message is of no channel.
  std::string_view text = {};

  std::string Encode() const;
  // Nothing: these bytes are no message. `text` is part of `bytes`.
  static std::optional<ChannelMessage> Decode(std::string_view bytes);
};

// Where a channel leads to.
inline constexpr char kToLauncher = 'l';
inline constexpr char kToTrainer = 't';

struct NodeGreeting {
  std::string nonce = {}, name = {};

  std::string Encode() const;
  static std::optional<NodeGreeting> Decode(std::string_view text);
};

// One end's channels: who may send, and how much. Pure; the bytes of the other end may be anything.
class NodeChannels {
 public:
  enum class End { kNode, kGate };
  struct News {
    enum class What {
      kNothing,
      kOpened,  // To the gate: `text` is kToLauncher or kToTrainer.
      kBytes,   // Call Took() once they are where they belong.
      kRoom,    // MaySend() is true again.
      kClosed,  // There is no such channel any more.
    };
    What what = What::kNothing;
    std::uint32_t channel = 0;
    std::string_view text = {};
  };

  explicit NodeChannels(End end) : end_(end) {}

  // After kWelcome. InvalidArgument: the other end does what it may not; the connection is to end.
  absl::StatusOr<News> Receive(const ChannelMessage& message);

  // The node's. A number; ResourceExhausted: kMaxChannels are open.
  absl::StatusOr<std::uint32_t> Open();
  bool Has(std::uint32_t channel) const { return channels_.contains(channel); }
  // False also if there is no such channel.
  bool MaySend(std::uint32_t channel) const;
  // One kBytes is sent. Requires MaySend().
  void NoteSent(std::uint32_t channel);
  // One kBytes was taken. How many are to be told in a kCredit; 0: none yet.
  std::uint32_t NoteTaken(std::uint32_t channel);
  // This end closes it, and sends kClose. False: there is no such channel.
  bool Close(std::uint32_t channel) { return channels_.erase(channel) != 0; }
  std::size_t size() const { return channels_.size(); }

 private:
  struct Channel {
    std::uint32_t credits = kChannelCredits;  // kBytes that may be sent.
    std::uint32_t received = 0;               // kBytes that no kCredit was sent for.
    std::uint32_t taken = 0;                  // How many of `received` were taken.
  };

  const End end_;
  std::map<std::uint32_t, Channel> channels_;
  std::uint32_t last_ = 0;  // The highest number until now.
};

}  // namespace bus

#endif  // BUS_ACCESS_NODE_CHANNELS_H_
