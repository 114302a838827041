#ifndef LAUNCHER_NODE_WORDS_NODE_FRAMES_H_
#define LAUNCHER_NODE_WORDS_NODE_FRAMES_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "runtime/event_loop.h"
#include "runtime/file/unique_fd.h"
#include "runtime/timer.h"

namespace launcher {

// One end of a connection between a launcher and a node: frames over a stream socket. A frame is
// its length as 4 bytes, little-endian, followed by its bytes. Each end sends an empty frame every
// kBeat; a peer that sends nothing for kMaxSilence counts as disconnected. Use on the loop's
// thread.
class NodeFrames {
 public:
  static constexpr std::size_t kMaxFrame = 4 << 20;
  // Limit of bytes buffered for a peer that does not read; beyond it the connection is closed.
  static constexpr std::size_t kMaxUnsent = 16 << 20;
  static constexpr absl::Duration kBeat = absl::Seconds(5);
  static constexpr absl::Duration kMaxSilence = absl::Seconds(20);

  struct Callbacks {
    std::function<void(std::string_view frame)> on_frame;  // Frames are never empty.
    // Called once, and last: with Unavailable if the peer has disconnected, is silent or does not
    // read, or with InvalidArgument if the bytes are not frames. Both callbacks may destroy the
    // NodeFrames.
    std::function<void(const absl::Status& why)> on_closed;
  };
  // `socket` is connected, and is made non-blocking. `loop` is not owned and outlives this object.
  NodeFrames(runtime::EventLoop* loop, runtime::UniqueFd socket, Callbacks callbacks);
  ~NodeFrames();
  NodeFrames(const NodeFrames&) = delete;
  NodeFrames& operator=(const NodeFrames&) = delete;

  // Sends a frame, or buffers it until the peer reads. Drops it if the connection has ended.
  void Send(std::string_view frame);
  // Bytes that are buffered for the peer.
  std::size_t unsent() const { return unsent_.size(); }

 private:
  void OnReadable();
  // Passes on all complete frames that were read. Returns false if this object was closed or
  // destroyed.
  bool TakeFrames();
  void Flush();
  void Beat();
  void Close(const absl::Status& why);

  runtime::EventLoop* const loop_;
  runtime::UniqueFd socket_;  // Invalid once closed.
  // Shared, so that it outlives this object during a callback.
  const std::shared_ptr<const Callbacks> callbacks_;
  std::string read_;  // The read part of an incomplete frame.
  std::string unsent_;
  absl::Duration silent_ = absl::ZeroDuration();
  runtime::EventLoop::WatchId read_watch_ = 0;
  runtime::EventLoop::WatchId write_watch_ = 0;
  runtime::Timer beat_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace launcher

#endif  // LAUNCHER_NODE_WORDS_NODE_FRAMES_H_
