#include "tools/yard/event/event_replay.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "bus/wire/receive.h"

namespace yard {

absl::StatusOr<EventReplay> EventReplay::Open(Options options) {
  auto reader = EventDumpReader::Open(options.path);
  if (!reader.ok()) return reader.status();
  return EventReplay(std::move(options), *std::move(reader));
}

absl::StatusOr<std::optional<EventReplay::Event>> EventReplay::Next() {
  const auto dumped = reader_->Next();
  if (!dumped.ok()) return dumped.status();
  if (!dumped->has_value()) return std::nullopt;
  auto event = EventOf(**dumped);
  ++events_;
  if (event.ok()) return *std::move(event);
  return absl::Status(event.status().code(), absl::StrCat(options_.path, ", event ", events_, ": ",
                                                          event.status().message()));
}

absl::StatusOr<EventReplay::Event> EventReplay::EventOf(const DumpedEvent& dumped) {
  // Copied, because a message must be aligned.
  const std::vector<std::uint8_t> message(dumped.message.begin(), dumped.message.end());
  const auto received = bus::Receive(message, message.size());
  if (!received.ok()) return received.status();
  const msg::Envelope& envelope = **received;
  Event result{.event = std::make_unique<msg::NewEventT>(), .due = absl::ZeroDuration()};
  result.event->topic = options_.root + dumped.topic;
  if (!absl::StartsWith(result.event->topic, "e/")) {
    return absl::PermissionDeniedError(
        absl::StrCat("only its owner publishes on ", dumped.topic,
                     "; to have it below a topic of your own: yard pub e/again/ --replay ..."));
  }
  if (envelope.body_type() != msg::Body::NONE) {
    result.event->envelope = message;
  } else {
    if (envelope.payload() != nullptr) {
      result.event->payload.assign(envelope.payload()->begin(), envelope.payload()->end());
    }
    if (envelope.payload_type() != nullptr) {
      result.event->payload_type = envelope.payload_type()->str();
    }
  }
  // Events from an owner's record were received together, so the time of sending is used if known.
  const bool has_time = envelope.head() != nullptr && envelope.head()->sent_us() != 0;
  result.due = DueOf(has_time ? envelope.head()->sent_us() : dumped.heard_us);
  return result;
}

absl::Duration EventReplay::DueOf(std::int64_t time_us) {
  if (options_.rate > 0) return absl::Seconds(static_cast<double>(events_) / options_.rate);
  if (events_ == 0) first_us_ = time_us;
  if (options_.speed <= 0) return absl::ZeroDuration();
  const absl::Duration behind = absl::FromUnixMicros(time_us) - absl::FromUnixMicros(first_us_);
  // Due times never decrease, even if a clock was set back during the recording.
  last_due_ = std::max(last_due_, behind / options_.speed);
  return last_due_;
}

}  // namespace yard
