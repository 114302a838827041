#ifndef TOOLS_YARD_SERVICES_TENSORBOARD_ENVIRONMENT_H_
#define TOOLS_YARD_SERVICES_TENSORBOARD_ENVIRONMENT_H_

#include <string>
#include <vector>

namespace yard {

// The environment that TensorBoard is started with, "NAME=value" each: that of its caller, with
// `data_server`, the path of ours (empty if missing), as the server that reads the runs, unless the
// caller has named one. Where a proxy is set, gRPC would look for that server through it, and
// TensorBoard fall back to its slow reader without a word: so localhost is made an exception, for
// gRPC alone.
std::vector<std::string> TensorBoardEnvironment(std::vector<std::string> callers,
                                                const std::string& data_server);

// The same for a TensorBoard that is started without it: whether the server would be looked for
// through a proxy.
bool ProxyHidesLocalhost(const std::vector<std::string>& environment);

// The path of the data server that TensorBoard would start; empty: its own.
std::string DataServerOf(const std::vector<std::string>& environment);

}  // namespace yard

#endif  // TOOLS_YARD_SERVICES_TENSORBOARD_ENVIRONMENT_H_
