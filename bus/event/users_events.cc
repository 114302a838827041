#include "bus/event/users_events.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bus/thread/socket.h"
#include "bus/wire/receive.h"
#include "bus/wire/topic.h"

namespace bus {
namespace {

using Bytes = std::vector<std::uint8_t>;

absl::Status CheckUsersTopic(const std::string& topic) {
  if (absl::Status checked = CheckTopic(topic); !checked.ok()) return checked;
  if (topic.starts_with("e/")) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat("topic \"", topic, "\": users publish under \"e/\"; other topics have owners"));
}

absl::StatusOr<msg::BodyUnion> BodyOf(const Bytes& envelope) {
  const auto received = Receive(envelope, kMaxMessageBytes);
  if (!received.ok()) return received.status();
  if (!received->body_known() || (*received)->body_type() == msg::Body::NONE) {
    return absl::InvalidArgumentError("its body is of no type that this version knows");
  }
  return std::move(std::unique_ptr<msg::EnvelopeT>((*received)->UnPack())->body);
}

absl::StatusOr<Hub::NewEvent> EventOf(const std::string& topic, const Bytes& payload,
                                      const std::string& payload_type, const Bytes& envelope,
                                      const CallContext& context) {
  if (absl::Status checked = CheckUsersTopic(topic); !checked.ok()) return checked;
  Hub::NewEvent event{.topic = topic, .event = {}};
  event.event.trace = context.trace;
  event.event.request_id = context.request_id;
  if (envelope.empty()) {
    event.event.payload = payload;
    event.event.payload_type = payload_type;
    return event;
  }
  if (!payload.empty() || !payload_type.empty()) {
    return absl::InvalidArgumentError("a payload and an envelope: an event is one of them");
  }
  auto body = BodyOf(envelope);
  if (!body.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("envelope: ", body.status().message()));
  }
  event.event.body = *std::move(body);
  return event;
}

}  // namespace

absl::StatusOr<std::vector<Hub::NewEvent>> UsersEvents(const msg::PublishRequestT& request,
                                                       const CallContext& context) {
  std::vector<Hub::NewEvent> events;
  if (request.events.empty()) {
    auto event =
        EventOf(request.topic, request.payload, request.payload_type, request.envelope, context);
    if (!event.ok()) return event.status();
    events.push_back(*std::move(event));
    return events;
  }
  if (!request.topic.empty() || !request.payload.empty() || !request.payload_type.empty() ||
      !request.envelope.empty()) {
    return absl::InvalidArgumentError("a list of events, and one beside it: it is one of them");
  }
  events.reserve(request.events.size());
  for (std::size_t i = 0; i < request.events.size(); ++i) {
    const msg::NewEventT& wanted = *request.events[i];
    auto event =
        EventOf(wanted.topic, wanted.payload, wanted.payload_type, wanted.envelope, context);
    if (!event.ok()) {
      return absl::Status(event.status().code(),
                          absl::StrCat("event ", i + 1, ": ", event.status().message()));
    }
    events.push_back(*std::move(event));
  }
  return events;
}

}  // namespace bus
