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

// Carries stream sockets as channels (node_channels.h), at either end. Bounds: the
// credits of a channel bound the bytes that its socket does not take; kMaxUnsent bounds the
// messages for the other end, and no socket is read while one of them waits. The end of a socket in
// either direction is its end. On the bus thread.
class ChannelPipes {
 public:
  // A socket whose channel has ended may take so long to take what came before the end.
  static constexpr absl::Duration kToFlush = absl::Seconds(10);
  static constexpr std::size_t kMaxUnsent = 4096;

  struct Options {
    BusThread* thread = nullptr;               // Not owned; outlives this.
    DescriptorWatches* descriptors = nullptr;  // The thread's.
    NodeChannels::End end = NodeChannels::End::kNode;
    // Sends a message to the other end, unless the connection is full or gone.
    std::function<Socket::Sent(std::string_view message)> send;
    // The other end is gone, or takes nothing and has asked for too much. May destroy the pipes.
    std::function<void()> on_stuck;
    // The gate's: a connection to where a channel leads.
    std::function<absl::StatusOr<runtime::UniqueFd>(char where)> connect = {};
  };
  explicit ChannelPipes(Options options);
  ~ChannelPipes();
  ChannelPipes(const ChannelPipes&) = delete;
  ChannelPipes& operator=(const ChannelPipes&) = delete;

  // A message of the other end. InvalidArgument: the connection is to end.
  absl::Status Receive(const ChannelMessage& message);
  // The node's: carries a connection that was made here. ResourceExhausted: it has too many.
  absl::Status Carry(runtime::UniqueFd socket, char where);
  // Sends a message that is of no channel, after those that wait.
  void Send(const ChannelMessage& message);

  std::size_t size() const { return pipes_.size(); }

 private:
  struct Pipe {
    std::uint32_t channel = 0;
    runtime::UniqueFd socket;
    DescriptorWatches::Id watch = 0;
    std::deque<std::string> unwritten;
    std::size_t written = 0;  // Bytes of the first unwritten message.
    bool is_ending = false;   // Its channel has ended: it closes once all is written.
    bool is_broken = false;   // It takes nothing any more.
    BusTimer timer;
  };

  void SendUnsent();
  void Stuck();
  void WatchAll();
  void OnOpened(std::uint32_t channel, char where);
  void Add(std::uint32_t channel, runtime::UniqueFd socket);
  void OnReady(std::uint32_t channel, bool readable, bool writable);
  // False if the pipe has ended.
  bool Write(Pipe* pipe);
  void Read(Pipe* pipe);
  void OnClosed(Pipe* pipe);
  // The channel ends here; the other end is told.
  void End(Pipe* pipe, std::string_view why);
  void Watch(Pipe* pipe);
  void Remove(std::uint32_t channel);

  const Options options_;
  NodeChannels channels_;
  std::map<std::uint32_t, Pipe> pipes_;  // By channel.
  std::deque<std::string> unsent_;
  BusTimer timer_;  // The next try to send, or on_stuck.
  bool is_stuck_ = false;
};

}  // namespace bus

#endif  // BUS_ACCESS_CHANNEL_PIPES_H_
