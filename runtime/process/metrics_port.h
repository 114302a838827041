#ifndef RUNTIME_PROCESS_METRICS_PORT_H_
#define RUNTIME_PROCESS_METRICS_PORT_H_

#include <map>
#include <string>
#include <vector>

namespace runtime {

// In what the yard of an earlier version was told each service has a port of its own for
// Prometheus: "metrics_port=9464", of which that of the registry was typed. Now the web service
// alone has one: it gets that, the others lose theirs. `flags`: by service, without dashes.
void LeaveOneMetricsPort(std::map<std::string, std::vector<std::string>>* flags);

}  // namespace runtime

#endif  // RUNTIME_PROCESS_METRICS_PORT_H_
