#ifndef TOOLS_YARD_SLURM_SLURM_KEEPER_H_
#define TOOLS_YARD_SLURM_SLURM_KEEPER_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tools/yard/pool/bundle.h"
#include "tools/yard/slurm/allocation.h"
#include "tools/yard/slurm/slurm_nodes.h"

namespace yard {

struct SlurmKeeperOptions {
  std::string state_directory;
  // "NAME=value"; Slurm's commands are found on its PATH.
  std::vector<std::string> environment;
  std::function<absl::StatusOr<Bundle>()> read_bundle;
  SlurmCalls calls;
  // Writes a line to the log.
  std::function<void(std::string_view line)> say;
  // A file descriptor whose readability requests the stop: give everything back and return. Not
  // owned.
  int stop = -1;
  Allocation::Times times = {};                           // message_timeout is read from Slurm.
  absl::Duration between_looks = absl::Seconds(10);       // Interval of squeue,
  absl::Duration between_slow_looks = absl::Seconds(30);  // while all nodes are connected.
  absl::Duration between_calls = absl::Seconds(3);        // Interval of queries of the launcher.
  absl::Duration to_stop = absl::Seconds(45);
};

// Keeps the allocations of all Slurm pools of a state directory (slurm_pool.h): requests them,
// monitors them with one squeue for all, and gives them back. Allocation (allocation.h) decides;
// the keeper stores each state before the step that follows it, and executes the steps on threads.
//
// Blocks until no pool is left or, after `stop`, until everything is given back: at most for
// `to_stop`; the next keeper gives back the remainder. The process may be killed at any time: the
// next keeper continues from what is stored. ALREADY_EXISTS: another keeper of this state directory
// runs; other errors: the keeper cannot start.
absl::Status KeepAllocations(SlurmKeeperOptions options);

}  // namespace yard

#endif  // TOOLS_YARD_SLURM_SLURM_KEEPER_H_
