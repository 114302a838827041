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

// The protocol between a node and a gate on one connection, which the node's key has opened: first
// the node's kHello and the gate's kWelcome (or kRefuse), then channels. Each channel carries the
// bytes of one connection that was made at the node, to a unix socket of the yard. The node's
// messages are ["node"][message], the gate's are [message] (gate_messages.h).

// The addressee that stands for the channels of a node.
inline constexpr std::string_view kNodeOfGate = "node";

inline constexpr std::size_t kMaxChannelBytes = 64 << 10;  // Limit of one message.
// kBytes messages that one end of a channel may send before the other end has taken any.
inline constexpr std::uint32_t kChannelCredits = 16;
inline constexpr std::size_t kMaxChannels = 256;  // Limit of one node.

struct ChannelMessage {
  enum class Kind : std::uint8_t {
    kHello = 1,  // Node: "1 NONCE NAME": version, and the node to which the key belongs.
    kWelcome,    // Gate: the node may open channels.
    kRefuse,     // Gate: the reason why it ends the connection.
    kOpen,       // Node: a new channel to kToLauncher or kToTrainer. Numbers increase.
    kBytes,      // Both: 1 to kMaxChannelBytes bytes.
    kCredit,     // Both: one byte, the number of kBytes taken since the last kCredit.
    kClose,      // Both: no more bytes follow; or the reason why the channel was not opened.
    kPing,       // Both: empty.
  };
  Kind kind = Kind::kPing;
  std::uint32_t channel = 0;  // 0: the message belongs to no channel.
  std::string_view text = {};

  std::string Encode() const;
  // Returns null if `bytes` are not a well-formed message. `text` points into `bytes`.
  static std::optional<ChannelMessage> Decode(std::string_view bytes);
};

// Destinations of a channel.
inline constexpr char kToLauncher = 'l';
inline constexpr char kToTrainer = 't';

struct NodeGreeting {
  std::string nonce = {}, name = {};

  std::string Encode() const;
  static std::optional<NodeGreeting> Decode(std::string_view text);
};

// Tracks the channels of one end: which may send, and how much. Does no I/O; the messages of the
// other end are untrusted.
class NodeChannels {
 public:
  enum class End { kNode, kGate };
  struct News {
    enum class What {
      kNothing,
      kOpened,  // Gate only: `text` is kToLauncher or kToTrainer.
      kBytes,   // Call NoteTaken() once the bytes are delivered.
      kRoom,    // MaySend() is true again.
      kClosed,  // The channel no longer exists.
    };
    What what = What::kNothing;
    std::uint32_t channel = 0;
    std::string_view text = {};
  };

  explicit NodeChannels(End end) : end_(end) {}

  // Handles a message after kWelcome. InvalidArgument if the other end violates the protocol: end
  // the connection.
  absl::StatusOr<News> Receive(const ChannelMessage& message);

  // Node only: opens a channel and returns its number. ResourceExhausted if kMaxChannels are open.
  absl::StatusOr<std::uint32_t> Open();
  bool Has(std::uint32_t channel) const { return channels_.contains(channel); }
  // False also if the channel does not exist.
  bool MaySend(std::uint32_t channel) const;
  // Notes that one kBytes was sent. Requires MaySend().
  void NoteSent(std::uint32_t channel);
  // Notes that one kBytes was taken. Returns the number to grant in a kCredit; 0: none yet.
  std::uint32_t NoteTaken(std::uint32_t channel);
  // Closes the channel at this end; the caller sends kClose. Returns false if it does not exist.
  bool Close(std::uint32_t channel) { return channels_.erase(channel) != 0; }
  std::size_t size() const { return channels_.size(); }

 private:
  struct Channel {
    std::uint32_t credits = kChannelCredits;  // kBytes that this end may still send.
    std::uint32_t received = 0;               // kBytes not granted back by a kCredit yet.
    std::uint32_t taken = 0;                  // How many of `received` were taken.
  };

  const End end_;
  std::map<std::uint32_t, Channel> channels_;
  std::uint32_t last_ = 0;  // The highest number so far.
};

}  // namespace bus

#endif  // BUS_ACCESS_NODE_CHANNELS_H_
