#ifndef TOOLS_YARD_FOLLOW_OUTPUT_FOLLOWER_H_
#define TOOLS_YARD_FOLLOW_OUTPUT_FOLLOWER_H_

#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "runtime/mutex.h"
#include "tools/yard/cli/context.h"
#include "tools/yard/follow/live_screen.h"

namespace yard {

// Streams the output of a trial's jobs, one attempt after another, on a thread of its own: a single
// program's bytes unchanged, a cluster's output line by line.
class OutputFollower {
 public:
  OutputFollower(Context& context, LiveScreen* screen, bool is_cluster);
  // Follows `job` from now on: the job of the trial's newest attempt.
  void SetJob(const std::string& job);
  // Call once the trial has ended: waits for the rest of the output. Returns false if it does not
  // arrive in time (the launcher is away); the thread then still waits, and the process must leave
  // by _exit.
  bool Finish();

 private:
  void Work();
  void SetPrinting(bool printing);

  Context& context_;
  LiveScreen* const screen_;
  const bool is_cluster_;
  runtime::Mutex mutex_;
  runtime::CondVar changed_;
  std::string job_ ABSL_GUARDED_BY(mutex_);
  bool last_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  bool printing_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Duration printed_ ABSL_GUARDED_BY(mutex_);  // Time of the last output; 0 if none came.
  std::thread thread_;
};

}  // namespace yard

#endif  // TOOLS_YARD_FOLLOW_OUTPUT_FOLLOWER_H_
