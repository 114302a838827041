#ifndef BUS_THREAD_COUNTERS_H_
#define BUS_THREAD_COUNTERS_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace bus {

// A number that any thread may change and read.
class Counter {
 public:
  void Add(std::uint64_t n = 1) { value_.fetch_add(n, std::memory_order_relaxed); }
  void Subtract(std::uint64_t n = 1) { value_.fetch_sub(n, std::memory_order_relaxed); }
  std::uint64_t Get() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

// A counter's value in Stats; a gauge goes up and down.
struct CounterValue {
  std::string name;
  std::uint64_t value = 0;
  bool gauge = false;
};

// Counts the work of the bus in one process since its start, for all its Clients, Services,
// Publishers and Subscribers together. Each number is exact, but they are not read at the same
// moment.
struct Counters {
  // Messages of calls, on both sides: requests, parts, replies, pings.
  Counter messages_sent, bytes_sent;
  Counter messages_received, bytes_received;
  Counter malformed_dropped;

  // Services.
  Counter replies_dropped;  // Their caller's queue was full.
  Counter callers_gone;     // Callers found disconnected when a message was to be sent.
  // Requests refused with an error before a handler ran, by absl::StatusCode.
  std::array<Counter, 17> calls_refused;

  // Clients.
  Counter retries_sent;
  Counter deadlines_expired;

  // Events.
  Counter events_published, events_received;
  Counter events_dropped;  // Dropped by a Publisher before they were sent.
  Counter events_lost;     // Reported to a subscriber as lost.
  Counter events_recovered;

  // Present amounts.
  Counter open_calls;    // Calls that services are handling.
  Counter outbox_bytes;  // Answers queued for their callers.
  Counter held_events;   // Events queued in Publishers.

  // Returns all counters by their names in Stats, such as "bus.calls_refused.not_found"; omits
  // refusal counters that are 0.
  std::vector<CounterValue> List() const;
};

}  // namespace bus

#endif  // BUS_THREAD_COUNTERS_H_
