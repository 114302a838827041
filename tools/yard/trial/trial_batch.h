#ifndef TOOLS_YARD_TRIAL_TRIAL_BATCH_H_
#define TOOLS_YARD_TRIAL_TRIAL_BATCH_H_

#include <cstddef>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "bus/call/client.h"
#include "bus/schema/trainer_generated.h"
#include "runtime/mutex.h"
#include "tools/yard/cli/context.h"

namespace yard {

// Starts the trials of one command and waits for them. Methods block; one thread.
//
// While an object exists, Ctrl-C asks all started trials to stop and prevents further starts; a
// second Ctrl-C exits the process and leaves them running.
class TrialBatch {
 public:
  // `context` and `client` are not owned, and must outlive the batch.
  TrialBatch(Context* context, bus::Client* client);
  ~TrialBatch();
  TrialBatch(const TrialBatch&) = delete;
  TrialBatch& operator=(const TrialBatch&) = delete;

  // Starts a trial and prints its id (not with --json). Cancelled after Ctrl-C.
  absl::StatusOr<msg::TrialT> Start(const msg::RunTrialRequestT& request);
  // Waits until each trial has ended or is paused. Shows a progress line on a terminal, a line for
  // each failure, and a summary; with --json an object for each trial. Returns the exit code: 1 if
  // a trial failed, 130 after Ctrl-C.
  int Await();
  // Returns true after Ctrl-C.
  bool interrupted();

 private:
  // Waits until the trial has ended or is paused.
  absl::StatusOr<msg::TrialT> AwaitOne(const std::string& id);
  void OnRest(const msg::TrialT& trial);
  void OnInterrupt();
  void StopAll();
  bool IsClosing();
  std::vector<std::string> Ids();
  void Say(const std::string& line);
  void SetProgress(std::string line);
  void Clear() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Draw() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Context& context_;
  bus::Client& client_;
  std::map<msg::TrialState, std::size_t> counts_;
  std::size_t rest_ = 0;  // Trials that have ended or are paused.
  runtime::Mutex mutex_;  // Shared with the signal thread.
  std::vector<std::string> ids_ ABSL_GUARDED_BY(mutex_);
  std::string progress_ ABSL_GUARDED_BY(mutex_);
  bool interrupted_ ABSL_GUARDED_BY(mutex_) = false;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread stopper_;  // Created once, by the signal thread.
};

// Returns "100 trials: 97 done, 2 failed, 1 paused".
std::string CountsLine(const std::map<msg::TrialState, std::size_t>& counts);

}  // namespace yard

#endif  // TOOLS_YARD_TRIAL_TRIAL_BATCH_H_
