#ifndef BUS_WIRE_TRACE_H_
#define BUS_WIRE_TRACE_H_

#include <cstddef>
#include <string>

namespace bus {

// Longer ones are refused, as those of the wire's other names are.
inline constexpr std::size_t kMaxTraceBytes = 128;

// The trace that this thread works for now; empty: none. Calls that a Client makes carry it on.
const std::string& CurrentTrace();

// This thread works for `trace` until the end of the scope. A Service opens one around each
// handler; work that goes on elsewhere (an event loop, another thread) takes the trace along, by
// CallContext::trace, and opens its own or sets CallOptions::trace.
class TraceScope {
 public:
  explicit TraceScope(std::string trace);
  ~TraceScope();
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;

 private:
  std::string before_;
};

}  // namespace bus

#endif  // BUS_WIRE_TRACE_H_
