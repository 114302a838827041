#ifndef TOOLS_YARD_POOL_HOST_NAME_H_
#define TOOLS_YARD_POOL_HOST_NAME_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace yard {

// A host of a pool, as it was typed.
struct PoolHost {
  std::string address;  // As ssh takes it: "gpu1", "ann@gpu1", "ssh://ann@gpu1:2222".
  std::string node;     // Name of its node, which comes of the address: "gpu1".

  bool operator==(const PoolHost&) const = default;
};

// InvalidArgument: ssh would take it for an option, or nothing is left of it for a name.
absl::StatusOr<PoolHost> ParsePoolHost(std::string_view address);

// "a,b": at most 1000, each once. InvalidArgument names two hosts whose nodes have the same name.
absl::StatusOr<std::vector<PoolHost>> ParsePoolHosts(std::string_view text);

// A pool's name: [a-z0-9.-], at most 32 of them, the first one a letter or a digit; no word that
// `yard pool` takes for something else. InvalidArgument says what is wrong.
absl::Status CheckPoolName(std::string_view name);

}  // namespace yard

#endif  // TOOLS_YARD_POOL_HOST_NAME_H_
