#ifndef RUNTIME_PROCESS_METRICS_PORT_H_
#define RUNTIME_PROCESS_METRICS_PORT_H_

#include <map>
#include <string>
#include <vector>

namespace runtime {

// Migrates the flags of an earlier version, in which each service had its own Prometheus port
// ("metrics_port=9464") and the user chose the registry's. Now only the web service has a port: it
// gets the registry's, the others lose theirs. `flags`: by service, without leading dashes.
void LeaveOneMetricsPort(std::map<std::string, std::vector<std::string>>* flags);

}  // namespace runtime

#endif  // RUNTIME_PROCESS_METRICS_PORT_H_
