#ifndef TOOLS_YARD_POOL_HOST_NAME_H_
#define TOOLS_YARD_POOL_HOST_NAME_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace yard {

// A host of a pool, as typed.
struct PoolHost {
  std::string address;  // As ssh takes it: "gpu1", "ann@gpu1", "ssh://ann@gpu1:2222".
  std::string node;     // Name of its node, derived from the address: "gpu1".

  bool operator==(const PoolHost&) const = default;
};

// InvalidArgument if ssh would read the address as an option, or if no name can be derived from it.
absl::StatusOr<PoolHost> ParsePoolHost(std::string_view address);

// Parses "a,b": at most 1000 hosts, each once. InvalidArgument names two hosts whose nodes would
// have the same name.
absl::StatusOr<std::vector<PoolHost>> ParsePoolHosts(std::string_view text);

// Checks a pool's name: at most 32 of [a-z0-9.-], beginning with a letter or a digit, and no word
// that `yard pool` uses as a command. InvalidArgument explains the error.
absl::Status CheckPoolName(std::string_view name);

}  // namespace yard

#endif  // TOOLS_YARD_POOL_HOST_NAME_H_
