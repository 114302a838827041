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

// One end of a connection between a launcher and a node: frames over a stream socket, each its
// length in 4 bytes, the lowest first, and so many bytes. Each end sends an empty frame every
// kBeat; a peer that says nothing for kMaxSilence has gone. On the loop's thread.
class NodeFrames {
 public:
  static constexpr std::size_t kMaxFrame = 4 << 20;
  // More is not kept for a peer that does not read: the connection ends.
  static constexpr std::size_t kMaxUnsent = 16 << 20;
  static constexpr absl::Duration kBeat = absl::Seconds(5);
  static constexpr absl::Duration kMaxSilence = absl::Seconds(20);

  struct Callbacks {
    std::function<void(std::string_view frame)> on_frame;  // Never empty.
    // Once, and last: Unavailable (the peer has gone, is silent or does not read) or
    // InvalidArgument (these are no frames). The NodeFrames may be destroyed in here, and in the
    // other.
    std::function<void(const absl::Status& why)> on_closed;
  };
  // `socket`: connected; it is made non-blocking. The loop outlives this.
  NodeFrames(runtime::EventLoop* loop, runtime::UniqueFd socket, Callbacks callbacks);
  ~NodeFrames();
  NodeFrames(const NodeFrames&) = delete;
  NodeFrames& operator=(const NodeFrames&) = delete;

  // Sends it, or keeps it until the peer reads. A connection that has ended drops it.
  void Send(std::string_view frame);
  // Bytes that are kept for the peer now.
  std::size_t unsent() const { return unsent_.size(); }

 private:
  void OnReadable();
  // Passes on the whole frames of what was read. False if this was closed or destroyed.
  bool TakeFrames();
  void Flush();
  void Beat();
  void Close(const absl::Status& why);

  runtime::EventLoop* const loop_;
  runtime::UniqueFd socket_;                          // Not valid: closed.
  const std::shared_ptr<const Callbacks> callbacks_;  // (Outlives this in a callback.)
  std::string read_;                                  // The beginning of a frame.
  std::string unsent_;
  absl::Duration silent_ = absl::ZeroDuration();
  runtime::EventLoop::WatchId read_watch_ = 0;
  runtime::EventLoop::WatchId write_watch_ = 0;
  runtime::Timer beat_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace launcher

#endif  // LAUNCHER_NODE_WORDS_NODE_FRAMES_H_
