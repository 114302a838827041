#ifndef BUS_WIRE_SENDER_H_
#define BUS_WIRE_SENDER_H_

#include <string>

#include "bus/wire/frame.h"

namespace bus {

// The sender of a frame from a gate's connection. ZeroMQ knows it only for the body frames of a
// message, never for the identity frame that a ROUTER adds.
struct Sender {
  std::string key;      // The client's public key (bus/thread/curve.h); empty: not checked.
  std::string address;  // The IP address of the client.
  int descriptor = -1;  // The connection's descriptor when the frame was read; -1: unknown.
};
Sender SenderOf(const Frame& frame);

}  // namespace bus

#endif  // BUS_WIRE_SENDER_H_
