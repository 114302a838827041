#ifndef BUS_WIRE_TRACE_H_
#define BUS_WIRE_TRACE_H_

#include <cstddef>
#include <string>

namespace bus {

// Longer trace ids are refused, like other long names in messages.
inline constexpr std::size_t kMaxTraceBytes = 128;

// Returns the trace id for which this thread works now; empty if it has none. A Client's calls
// inherit it.
const std::string& CurrentTrace();

// Makes this thread work for `trace` until the end of the scope. A Service opens a scope around
// each handler. Work that continues elsewhere (an event loop, another thread) must carry the trace
// along: it reads CallContext::trace and opens its own scope or sets CallOptions::trace.
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
