#include "bus/wire/sender.h"

#include <zmq.hpp>

namespace bus {

Sender SenderOf(const Frame& frame) {
  zmq_msg_t* const message = static_cast<zmq_msg_t*>(frame.message());
  Sender sender;
  if (const char* const key = zmq_msg_gets(message, "User-Id")) sender.key = key;
  if (const char* const address = zmq_msg_gets(message, "Peer-Address")) sender.address = address;
  sender.descriptor = zmq_msg_get(message, ZMQ_SRCFD);
  return sender;
}

}  // namespace bus
