#ifndef BENCH_PEERS_H_
#define BENCH_PEERS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace bench {

// Returns a program of an environment that tools/peers installs, in $YARD_PEERS or the default
// place: "ray", "bin/python". NotFound says how to install it.
absl::StatusOr<std::string> FindPeer(const std::string& environment, const std::string& program);

// Runs a script of bench/ with that interpreter in a new directory, and returns the JSON object
// that it prints last. An error contains the end of its output. Blocks, for at most ten minutes.
absl::StatusOr<nlohmann::json> RunPeerScript(const std::string& python, const std::string& script,
                                             const std::vector<std::string>& arguments);

}  // namespace bench

#endif  // BENCH_PEERS_H_
