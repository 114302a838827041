#ifndef BENCH_PEERS_H_
#define BENCH_PEERS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace bench {

// A program of an environment that tools/peers installs, in $YARD_PEERS or where it is by default:
// "ray", "bin/python". NotFound says how it is installed.
absl::StatusOr<std::string> FindPeer(const std::string& environment, const std::string& program);

// Runs a script of bench/ with that interpreter in a fresh directory, and returns the JSON object
// that it prints last. An error has the end of what it has said. Blocks, ten minutes at most.
absl::StatusOr<nlohmann::json> RunPeerScript(const std::string& python, const std::string& script,
                                             const std::vector<std::string>& arguments);

}  // namespace bench

#endif  // BENCH_PEERS_H_
