#include "bus/wire/frame.h"

#include <cstdio>
#include <cstring>
#include <new>
#include <zmq.hpp>

namespace bus {
namespace {

static_assert(sizeof(zmq_msg_t) == 64 && alignof(zmq_msg_t) <= 8);

zmq_msg_t* Message(void* storage) { return static_cast<zmq_msg_t*>(storage); }

}  // namespace

Frame::Frame() { zmq_msg_init(Message(storage_)); }

Frame::Frame(std::string_view bytes) {
  if (zmq_msg_init_size(Message(storage_), bytes.size()) != 0) throw std::bad_alloc();
  if (!bytes.empty()) std::memcpy(zmq_msg_data(Message(storage_)), bytes.data(), bytes.size());
}

Frame::Frame(std::span<const std::uint8_t> bytes)
    : Frame(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size())) {}

Frame::~Frame() { zmq_msg_close(Message(storage_)); }

Frame::Frame(Frame&& other) noexcept : Frame() {
  zmq_msg_move(Message(storage_), Message(other.storage_));
}

Frame& Frame::operator=(Frame&& other) noexcept {
  if (this != &other) zmq_msg_move(Message(storage_), Message(other.storage_));
  return *this;
}

Frame Frame::Share() const {
  Frame copy;
  zmq_msg_copy(Message(copy.storage_), Message(storage_));
  return copy;
}

std::span<const std::uint8_t> Frame::bytes() const {
  zmq_msg_t* const message = Message(storage_);
  return {static_cast<const std::uint8_t*>(zmq_msg_data(message)), zmq_msg_size(message)};
}

std::string_view Frame::text() const {
  const auto all = bytes();
  return {reinterpret_cast<const char*>(all.data()), all.size()};
}

std::optional<Peer> Frame::peer() const {
  // ZeroMQ's format for ipc, from SO_PEERCRED: "localhost:UID:GID:PID".
  const char* const address = zmq_msg_gets(Message(storage_), "Peer-Address");
  unsigned uid = 0, gid = 0;
  int pid = 0;
  if (address == nullptr || std::sscanf(address, "localhost:%u:%u:%d", &uid, &gid, &pid) != 3) {
    return std::nullopt;
  }
  return Peer{.uid = uid, .gid = gid, .pid = pid};
}

}  // namespace bus
