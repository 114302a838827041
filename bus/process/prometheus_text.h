#ifndef BUS_PROCESS_PROMETHEUS_TEXT_H_
#define BUS_PROCESS_PROMETHEUS_TEXT_H_

#include <string>

#include "bus/process/prometheus_page.h"
#include "bus/schema/common_generated.h"

namespace bus {

// Adds a service's Stats to a page in Prometheus' text format 0.0.4, UTF-8. Every sample has the
// label `service`. Process figures that Prometheus' own client libraries also export have the same
// names (process_cpu_seconds_total); all other names begin with trainyard_: the counter
// "bus.bytes_sent" is trainyard_bus_bytes_sent_total, the gauge "leases" is trainyard_leases, and
// the latencies of methods are trainyard_call_duration_seconds{method}.
void AddStats(const msg::StatsReplyT& stats, PrometheusPage* page);
// Returns a page with one service's Stats.
std::string PrometheusText(const msg::StatsReplyT& stats);

}  // namespace bus

#endif  // BUS_PROCESS_PROMETHEUS_TEXT_H_
