#ifndef TOOLS_YARD_TRIAL_TRIAL_BATCH_H_
#define TOOLS_YARD_TRIAL_TRIAL_BATCH_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bus/call/client.h"
#include "bus/schema/trainer_generated.h"
#include "tools/yard/cli/context.h"

namespace yard {

// The trials of one command, started and waited for together. Blocks; one thread.
//
// While there is one, Ctrl-C asks all that were started to stop and starts no more; a second one
// ends the process and leaves them alone.
class TrialBatch {
 public:
  // Neither is owned; both outlive it.
  static std::unique_ptr<TrialBatch> Create(Context* context, bus::Client* client);
  virtual ~TrialBatch() = default;

  // Starts one and prints its id (with --json nothing). Cancelled after Ctrl-C.
  virtual absl::StatusOr<msg::TrialT> Start(const msg::RunTrialRequestT& request) = 0;
  // Waits until each has ended or is paused, with one line of progress on a terminal, a line for
  // each that fails, and a last one; with --json each trial is an object. The exit code: 1 if one
  // has failed, 130 after Ctrl-C.
  virtual int Await() = 0;
  // True after Ctrl-C.
  virtual bool interrupted() = 0;
};

// "100 trials: 97 done, 2 failed, 1 paused".
std::string CountsLine(const std::map<msg::TrialState, std::size_t>& counts);

}  // namespace yard

#endif  // TOOLS_YARD_TRIAL_TRIAL_BATCH_H_
