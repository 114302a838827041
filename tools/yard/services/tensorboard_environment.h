#ifndef TOOLS_YARD_SERVICES_TENSORBOARD_ENVIRONMENT_H_
#define TOOLS_YARD_SERVICES_TENSORBOARD_ENVIRONMENT_H_

#include <string>
#include <vector>

namespace yard {

// Returns the environment ("NAME=value") for TensorBoard: the caller's, with `data_server`, the
// path of ours (empty if missing), as the server that reads the runs, unless the caller has
// named one. If a proxy is set, gRPC would connect to that server through it, and TensorBoard
// would silently fall back to its slow reader; so localhost is added to gRPC's proxy
// exceptions.
std::vector<std::string> TensorBoardEnvironment(std::vector<std::string> callers,
                                                const std::string& data_server);

// Returns true if a TensorBoard started with this unmodified environment would connect to its data
// server through a proxy.
bool ProxyHidesLocalhost(const std::vector<std::string>& environment);

// Returns the path of the data server that TensorBoard would start; empty for its own.
std::string DataServerOf(const std::vector<std::string>& environment);

}  // namespace yard

#endif  // TOOLS_YARD_SERVICES_TENSORBOARD_ENVIRONMENT_H_
