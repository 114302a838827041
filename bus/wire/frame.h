#ifndef BUS_WIRE_FRAME_H_
#define BUS_WIRE_FRAME_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace bus {

// The process at the other end of a connection, as reported by the kernel.
struct Peer {
  uid_t uid = 0;
  gid_t gid = 0;
  pid_t pid = 0;
};

// One frame of a ZeroMQ message: its bytes are copied in once and then moved or shared. Not thread
// safe; may be handed to another thread.
class Frame {
 public:
  Frame();
  explicit Frame(std::string_view bytes);
  explicit Frame(std::span<const std::uint8_t> bytes);
  ~Frame();
  Frame(Frame&& other) noexcept;
  Frame& operator=(Frame&& other) noexcept;

  // Returns another frame with the same bytes; shares large ones instead of copying.
  Frame Share() const;

  // Valid until the frame is moved or destroyed.
  std::span<const std::uint8_t> bytes() const;
  std::string_view text() const;
  std::size_t size() const { return bytes().size(); }

  // Returns the process that sent a received frame. ZeroMQ 4.3.4 knows it only for the body frames
  // of a message, never for the identity frame that a ROUTER adds.
  std::optional<Peer> peer() const;

  // The zmq_msg_t; for Socket.
  void* message() const { return storage_; }

 private:
  alignas(8) mutable unsigned char storage_[64];
};

}  // namespace bus

#endif  // BUS_WIRE_FRAME_H_
