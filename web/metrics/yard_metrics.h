#ifndef WEB_METRICS_YARD_METRICS_H_
#define WEB_METRICS_YARD_METRICS_H_

#include <string>

#include "web/metrics/yard_facts.h"

namespace web {

// Returns metrics of the whole yard in Prometheus' text format: the counters of each service
// (prometheus_text.h), and for services, tasks, trials and GPUs whether they are up, their
// restarts, state, processor time, memory, disk traffic, GPUs and reports (docs/operating.md). An
// unknown value has no sample. Pure.
std::string YardMetricsText(const YardFacts& facts);

}  // namespace web

#endif  // WEB_METRICS_YARD_METRICS_H_
