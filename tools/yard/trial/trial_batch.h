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

// Starts the trials of one command and waits for them. Methods block; one thread.
//
// While an object exists, Ctrl-C asks all started trials to stop and prevents further starts; a
// second Ctrl-C exits the process and leaves them running.
class TrialBatch {
 public:
  // `context` and `client` are not owned, and must outlive the batch.
  static std::unique_ptr<TrialBatch> Create(Context* context, bus::Client* client);
  virtual ~TrialBatch() = default;

  // Starts a trial and prints its id (not with --json). Cancelled after Ctrl-C.
  virtual absl::StatusOr<msg::TrialT> Start(const msg::RunTrialRequestT& request) = 0;
  // Waits until each trial has ended or is paused. Shows a progress line on a terminal, a line for
  // each failure, and a summary; with --json an object for each trial. Returns the exit code: 1 if
  // a trial failed, 130 after Ctrl-C.
  virtual int Await() = 0;
  // Returns true after Ctrl-C.
  virtual bool interrupted() = 0;
};

// Returns "100 trials: 97 done, 2 failed, 1 paused".
std::string CountsLine(const std::map<msg::TrialState, std::size_t>& counts);

}  // namespace yard

#endif  // TOOLS_YARD_TRIAL_TRIAL_BATCH_H_
