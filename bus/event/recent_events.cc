#include "bus/event/recent_events.h"

#include <algorithm>
#include <utility>

namespace bus {

void RecentEvents::Add(std::string_view topic, const msg::Head& head, const Frame& event) {
  const std::size_t cost = Cost(topic, event);
  if (cost > max_bytes_) return;
  auto found = topics_.find(topic);
  if (found == topics_.end()) found = topics_.emplace(std::string(topic), Lanes()).first;
  found->second[head.source()].events.push_back({head.seq(), head.sent_us(), event.Share()});
  order_.emplace_back(found, head.source());
  bytes_ += cost;
  while (bytes_ > max_bytes_) DropOldest();
}

void RecentEvents::DropOldest() {
  const auto [topic, source] = order_.front();
  order_.pop_front();
  const auto lane = topic->second.find(source);
  bytes_ -= Cost(topic->first, lane->second.events.front().frame);
  lane->second.dropped_us = lane->second.events.front().sent_us;
  lane->second.events.pop_front();
  if (lane->second.events.empty()) topic->second.erase(lane);
  if (topic->second.empty()) topics_.erase(topic);
}

msg::EndsReplyT RecentEvents::Ends(const msg::EndsRequestT& request) const {
  EndsPage page(request);
  const std::string& begin = std::max(request.prefix, request.after);
  for (auto topic = topics_.lower_bound(begin); topic != topics_.end(); ++topic) {
    if (!topic->first.starts_with(request.prefix)) break;
    for (const auto& [source, lane] : topic->second) {
      if (!page.Add(topic->first, source, lane.events.back().seq)) return page.Take();
    }
  }
  return page.Take();
}

bool RecentEvents::Begin(std::string_view topic, std::uint64_t source, const Lane& lane,
                         std::int64_t since_us, std::deque<Event>::const_iterator* event,
                         SincePage* page) {
  const auto begin = *event;
  *event =
      std::find_if(begin, lane.events.end(), [&](const Event& e) { return e.sent_us >= since_us; });
  // Dropped events may have been sent at `since_us` or later, so the subscriber must see the gap.
  if (*event == begin && (begin != lane.events.begin() || lane.dropped_us >= since_us)) return true;
  const std::uint64_t before =
      *event == lane.events.end() ? lane.events.back().seq : (*event)->seq - 1;
  return before == 0 || page->AddBeginning(topic, source, before);
}

msg::SinceReplyT RecentEvents::Since(const msg::SinceRequestT& request) const {
  SincePage page;
  for (const auto& place : request.places) {
    if (place == nullptr) continue;
    const auto topic = topics_.find(place->topic);
    if (topic == topics_.end()) continue;
    const auto lane = topic->second.find(place->lane);
    if (lane == topic->second.end()) continue;
    const auto& events = lane->second.events;
    auto event =
        std::upper_bound(events.begin(), events.end(), place->position,
                         [](std::uint64_t position, const Event& e) { return position < e.seq; });
    if (request.since_us != 0 &&
        !Begin(topic->first, lane->first, lane->second, request.since_us, &event, &page)) {
      return page.Take();
    }
    for (; event != events.end(); ++event) {
      if (!page.AddEncoded(topic->first, event->frame.text())) return page.Take();
    }
  }
  return page.Take();
}

}  // namespace bus
