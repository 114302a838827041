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

// The jobs of pools. Each host has a job of its own, so that a pool changes and nothing happens to
// the hosts that stay. Its one task is `yard --keep_host ...` (host_keeper.h).

// First word of the task's command line.
inline constexpr char kKeepHost[] = "--keep_host";

struct KeptHost {
  std::string pool;
  PoolHost host;
  std::uint32_t slots = 0;  // 0: as many as the host has processors.
};
// `yard --keep_host POOL ADDRESS SLOTS`, and back. InvalidArgument: it is none.
std::vector<std::string> KeepHostWords(const KeptHost& kept);
absl::StatusOr<KeptHost> ReadKeepHostWords(const std::vector<std::string>& words);

// `program`: path of yard. `environment`: the caller's.
msg::JobSpecT JobOfHost(const KeptHost& kept, const std::string& program,
                        const std::vector<std::string>& environment);

// A job that keeps a host.
struct HostJob {
  std::string id;
  std::string pool;
  PoolHost host;
};
// Nothing: the job is another one.
std::optional<HostJob> HostOfJob(const msg::JobT& job);

// Calls of the launcher. They wait for one that is being restarted.
absl::StatusOr<std::vector<msg::NodeT>> AllNodes(Context& context);
absl::StatusOr<std::vector<HostJob>> AllHostJobs(Context& context);
// Adds it, or changes it: its name, pool, address, slots and `draining` count.
absl::StatusOr<msg::SetNodeReplyT> SetNode(Context& context, const msg::NodeT& node);
absl::Status RemoveNode(Context& context, const std::string& node, bool force);

}  // namespace yard

#endif  // TOOLS_YARD_POOL_POOL_JOBS_H_
