#ifndef TOOLS_YARD_POOL_POOL_JOBS_H_
#define TOOLS_YARD_POOL_POOL_JOBS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bus/schema/launcher_generated.h"
#include "tools/yard/cli/context.h"
#include "tools/yard/pool/host_name.h"

namespace yard {

// The jobs of pools. Each host has its own job, so that a change of the pool does not disturb the
// hosts that stay. Its only task is `yard --keep_host ...` (host_keeper.h).

// First argument of the task's program.
inline constexpr char kKeepHost[] = "--keep_host";

struct KeptHost {
  std::string pool;
  PoolHost host;
  std::uint32_t slots = 0;  // 0 for the host's number of processors.
};
// Formats and parses `yard --keep_host POOL ADDRESS SLOTS`. InvalidArgument for other words.
std::vector<std::string> KeepHostWords(const KeptHost& kept);
absl::StatusOr<KeptHost> ReadKeepHostWords(const std::vector<std::string>& words);

// `program` is the path of yard; `environment` is the caller's.
msg::JobSpecT JobOfHost(const KeptHost& kept, const std::string& program,
                        const std::vector<std::string>& environment);

// A job that keeps a host connected.
struct HostJob {
  std::string id;
  std::string pool;
  PoolHost host;
};
// Returns nothing for any other job.
std::optional<HostJob> HostOfJob(const msg::JobT& job);

// Call the launcher, and wait for one that is being restarted. Block.
absl::StatusOr<std::vector<msg::NodeT>> AllNodes(Context& context);
absl::StatusOr<std::vector<HostJob>> AllHostJobs(Context& context);
// Adds or changes a node: its name, pool, address, slots and `draining` are used.
absl::StatusOr<msg::SetNodeReplyT> SetNode(Context& context, const msg::NodeT& node);
absl::Status RemoveNode(Context& context, const std::string& node, bool force);

}  // namespace yard

#endif  // TOOLS_YARD_POOL_POOL_JOBS_H_
