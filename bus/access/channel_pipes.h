#ifndef BUS_ACCESS_CHANNEL_PIPES_H_
#define BUS_ACCESS_CHANNEL_PIPES_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bus/access/node_channels.h"
#include "bus/thread/bus_thread.h"
#include "bus/thread/descriptor_watches.h"
#include "bus/thread/socket.h"
#include "runtime/file/unique_fd.h"

namespace bus {

// Carries stream sockets as channels (node_channels.h), at either end of a connection. Bounds: a
// channel's credits bound the bytes that its socket has not accepted; kMaxUnsent bounds the
// messages to the other end, and no socket is read while one of them is queued. When a socket ends
// in either direction, its channel ends. Bus thread only.
class ChannelPipes {
 public:
  // Time that a socket has to accept the remaining bytes after its channel has ended.
  static constexpr absl::Duration kToFlush = absl::Seconds(10);
  static constexpr std::size_t kMaxUnsent = 4096;

  struct Options {
    BusThread* thread = nullptr;               // Not owned; must outlive this object.
    DescriptorWatches* descriptors = nullptr;  // The thread's watches.
    NodeChannels::End end = NodeChannels::End::kNode;
    // Sends a message to the other end; reports if the connection is full or gone.
    std::function<Socket::Sent(std::string_view message)> send;
    // Called when the connection is gone or its queue exceeds kMaxUnsent. May destroy the pipes.
    std::function<void()> on_stuck;
    // Gate only: connects to the destination of a new channel.
    std::function<absl::StatusOr<runtime::UniqueFd>(char where)> connect = {};
  };
  explicit ChannelPipes(Options options);
  ~ChannelPipes();
  ChannelPipes(const ChannelPipes&) = delete;
  ChannelPipes& operator=(const ChannelPipes&) = delete;

  // Handles a message of the other end. On InvalidArgument the caller must end the connection.
  absl::Status Receive(const ChannelMessage& message);
  // Node only: carries a connection that was accepted here. ResourceExhausted if there are too
  // many.
  absl::Status Carry(runtime::UniqueFd socket, char where);
  // Sends a message that belongs to no channel, after the queued ones.
  void Send(const ChannelMessage& message);

  std::size_t size() const { return pipes_.size(); }

 private:
  struct Pipe {
    std::uint32_t channel = 0;
    runtime::UniqueFd socket;
    DescriptorWatches::Id watch = 0;
    std::deque<std::string> unwritten;
    std::size_t written = 0;  // Bytes already written of the first unwritten message.
    bool is_ending = false;   // The channel has ended: the socket closes once all is written.
    bool is_broken = false;   // The socket accepts nothing any more.
    BusTimer timer;
  };

  void SendUnsent();
  void Stuck();
  void WatchAll();
  void OnOpened(std::uint32_t channel, char where);
  void Add(std::uint32_t channel, runtime::UniqueFd socket);
  void OnReady(std::uint32_t channel, bool readable, bool writable);
  // Returns false if the pipe has ended.
  bool Write(Pipe* pipe);
  void Read(Pipe* pipe);
  void OnClosed(Pipe* pipe);
  // Ends the channel at this end and sends kClose to the other one.
  void End(Pipe* pipe, std::string_view why);
  void Watch(Pipe* pipe);
  void Remove(std::uint32_t channel);

  const Options options_;
  NodeChannels channels_;
  std::map<std::uint32_t, Pipe> pipes_;  // By channel.
  std::deque<std::string> unsent_;
  BusTimer timer_;  // Retries to send, or calls on_stuck.
  bool is_stuck_ = false;
};

}  // namespace bus

#endif  // BUS_ACCESS_CHANNEL_PIPES_H_
