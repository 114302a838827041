#ifndef BUS_THREAD_COUNTERS_H_
#define BUS_THREAD_COUNTERS_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace bus {

// One number that any thread may change and read.
class Counter {
 public:
  void Add(std::uint64_t n = 1) { value_.fetch_add(n, std::memory_order_relaxed); }
  void Subtract(std::uint64_t n = 1) { value_.fetch_sub(n, std::memory_order_relaxed); }
  std::uint64_t Get() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

// A counter's value as Stats tells it; a gauge goes up and down.
struct CounterValue {
  std::string name;
  std::uint64_t value = 0;
  bool gauge = false;
};

// Counts the work of the bus in one process since its start, for all its Clients, Services,
// Publishers and Subscribers together. Each number is exact, but the numbers are of no common
// moment.
struct Counters {
  // Calls, on both sides of them: requests, parts, replies, pings.
  Counter messages_sent, bytes_sent;
  Counter messages_received, bytes_received;
  Counter malformed_dropped;

  // Services.
  Counter replies_dropped;  // Too much waited for their caller.
  Counter callers_gone;     // Found gone when something was to be sent to them.
  // Requests that were answered with an error before a handler saw them, by absl::StatusCode.
  std::array<Counter, 17> calls_refused;

  // Clients.
  Counter retries_sent;
  Counter deadlines_expired;

  // Events.
  Counter events_published, events_received;
  Counter events_dropped;  // Given up by a Publisher before they were sent.
  Counter events_lost;     // Told to a subscriber as lost.
  Counter events_recovered;

  // How much there is now.
  Counter open_calls;    // That services work on.
  Counter outbox_bytes;  // Answers that wait for their callers to read.
  Counter held_events;   // That wait in Publishers.

  // Names as in Stats, "bus.calls_refused.not_found" for one; refusals only where there are any.
  std::vector<CounterValue> List() const;
};

}  // namespace bus

#endif  // BUS_THREAD_COUNTERS_H_
