#ifndef BUS_EVENT_RAW_PUBLISHER_H_
#define BUS_EVENT_RAW_PUBLISHER_H_

#include <cstdint>
#include <memory>
#include <string_view>

#include "bus/schema/envelope_generated.h"
#include "bus/thread/socket.h"
#include "runtime/file/locations.h"

namespace bus {

// For tests: a publisher whose caller chooses the sequence numbers, so that some events seem to be
// lost on their way to the hub. One thread.
class RawPublisher {
 public:
  // Connects to the hub of a yard, which must be running.
  explicit RawPublisher(const runtime::Locations& locations);

  void Publish(std::string_view topic, std::uint64_t seq, msg::EnvelopeT event);

 private:
  const std::unique_ptr<SocketContext> context_;
  std::unique_ptr<Socket> socket_;
};

}  // namespace bus

#endif  // BUS_EVENT_RAW_PUBLISHER_H_
