#include "bus/event/raw_publisher.h"

#include <sched.h>

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bus/event/hub_addresses.h"
#include "bus/wire/envelope.h"
#include "bus/wire/frame.h"
#include "glog/logging.h"

namespace bus {

RawPublisher::RawPublisher(const runtime::Locations& locations)
    : context_(*SocketContext::Create()),
      socket_(*Socket::Open(*context_, Socket::Use::kPublisher)) {
  const absl::Status connected = socket_->Connect(HubPublishAddress(locations));
  CHECK(connected.ok()) << connected;
  // ZeroMQ sends nothing until the hub's subscription has arrived.
  std::vector<Frame> frames;
  const absl::Time deadline = absl::Now() + absl::Seconds(30);
  while (!socket_->Receive(frames)) {
    CHECK(absl::Now() < deadline) << "there is no hub";
    sched_yield();
  }
}

void RawPublisher::Publish(std::string_view topic, std::uint64_t seq, msg::EnvelopeT event) {
  event.kind = msg::Kind::Event;
  event.head =
      std::make_unique<msg::Head>(/*source=*/77, /*epoch=*/1, seq, absl::ToUnixMicros(absl::Now()));
  std::vector<Frame> frames;
  frames.emplace_back(topic);
  frames.push_back(Encode(event));
  CHECK(socket_->Send(frames) == Socket::Sent::kYes);
}

}  // namespace bus
