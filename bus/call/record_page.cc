#include "bus/call/record_page.h"

#include <memory>

#include "bus/wire/envelope.h"
#include "bus/wire/frame.h"

namespace bus {

bool SincePage::Add(std::string_view topic, const msg::Span& span, msg::EnvelopeT event) {
  if (full_) return false;
  event.kind = msg::Kind::Event;
  event.span = std::make_unique<msg::Span>(span);
  return AddEncoded(topic, Encode(event).text());
}

bool SincePage::AddEncoded(std::string_view topic, std::string_view envelope) {
  const std::size_t bytes = topic.size() + envelope.size();
  full_ = full_ || reply_.events.size() >= kMaxEvents ||
          (!reply_.events.empty() && bytes_ + bytes > kMaxBytes);
  reply_.more = full_;
  if (full_) return false;
  bytes_ += bytes;
  auto recorded = std::make_unique<msg::RecordedEventT>();
  recorded->topic = topic;
  recorded->envelope.assign(envelope.begin(), envelope.end());
  reply_.events.push_back(std::move(recorded));
  return true;
}

bool EndsPage::Add(const std::string& topic, std::uint64_t lane, std::uint64_t position) {
  if (!topic.starts_with(request_.prefix) || topic <= request_.after) return true;
  // A page never ends between two lanes of a topic, because the next page begins after the topic.
  if (reply_.places.size() >= kMaxPlaces && reply_.places.back()->topic != topic) {
    reply_.more = true;
    return false;
  }
  auto place = std::make_unique<msg::PlaceT>();
  place->topic = topic;
  place->lane = lane;
  place->position = position;
  reply_.places.push_back(std::move(place));
  return true;
}

}  // namespace bus
