#include "bus/thread/counters.h"

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace bus {

std::vector<CounterValue> Counters::List() const {
  std::vector<CounterValue> all = {
      {"bus.messages_sent", messages_sent.Get()},
      {"bus.bytes_sent", bytes_sent.Get()},
      {"bus.messages_received", messages_received.Get()},
      {"bus.bytes_received", bytes_received.Get()},
      {"bus.malformed_dropped", malformed_dropped.Get()},
      {"bus.replies_dropped", replies_dropped.Get()},
      {"bus.callers_gone", callers_gone.Get()},
      {"bus.retries_sent", retries_sent.Get()},
      {"bus.deadlines_expired", deadlines_expired.Get()},
      {"bus.events_published", events_published.Get()},
      {"bus.events_received", events_received.Get()},
      {"bus.events_dropped", events_dropped.Get()},
      {"bus.events_lost", events_lost.Get()},
      {"bus.events_recovered", events_recovered.Get()},
      {"bus.open_calls", open_calls.Get(), true},
      {"bus.outbox_bytes", outbox_bytes.Get(), true},
      {"bus.held_events", held_events.Get(), true},
  };
  for (std::size_t code = 0; code < calls_refused.size(); ++code) {
    const std::uint64_t refused = calls_refused[code].Get();
    if (refused == 0) continue;
    const auto name = absl::StatusCodeToString(static_cast<absl::StatusCode>(code));
    all.push_back({absl::StrCat("bus.calls_refused.", absl::AsciiStrToLower(name)), refused});
  }
  return all;
}

}  // namespace bus
