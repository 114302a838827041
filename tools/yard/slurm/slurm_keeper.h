#ifndef TOOLS_YARD_SLURM_SLURM_KEEPER_H_
#define TOOLS_YARD_SLURM_SLURM_KEEPER_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tools/yard/pool/bundle.h"
#include "tools/yard/slurm/allocation.h"
#include "tools/yard/slurm/slurm_nodes.h"

namespace yard {

// Keeps the allocations of all pools of a state directory (slurm_pool.h): asks Slurm for them,
// looks how they are by one squeue for all, and gives them back. Its decisions are in
// allocation.h; this stores each state before the step that follows it, and carries the steps out,
// on threads.
//
// It may be killed at any time: the next one goes on. One at a time for a state directory.
class SlurmKeeper {
 public:
  struct Options {
    std::string state_directory;
    // "NAME=value"; commands of Slurm are found on its PATH.
    std::vector<std::string> environment;
    std::function<absl::StatusOr<Bundle>()> read_bundle;
    SlurmCalls calls;
    // Takes a line for its log.
    std::function<void(std::string_view line)> say;
    // A descriptor that becomes readable when it shall give all back and end. Not owned.
    int stop = -1;
    Allocation::Times times = {};                      // Slurm's own time-out is asked of Slurm.
    absl::Duration between_looks = absl::Seconds(10);  // By squeue,
    absl::Duration between_slow_looks = absl::Seconds(30);  // when all nodes are connected.
    absl::Duration between_calls = absl::Seconds(3);        // Looks at the launcher.
    absl::Duration to_stop = absl::Seconds(45);
  };
  static std::unique_ptr<SlurmKeeper> Create(Options options);
  virtual ~SlurmKeeper() = default;

  // Blocks until no pool is there, or until `stop` and all is given back: `to_stop` at most, after
  // which the next keeper gives back the rest. An error: another keeper runs, or it cannot begin.
  virtual absl::Status Run() = 0;
};

}  // namespace yard

#endif  // TOOLS_YARD_SLURM_SLURM_KEEPER_H_
