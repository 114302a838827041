#ifndef TRAINER_SWEEP_OPTIMISER_H_
#define TRAINER_SWEEP_OPTIMISER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "bus/launcher_client/job_control.h"
#include "bus/schema/trainer_generated.h"
#include "runtime/event_loop.h"
#include "trainer/sweep/optimiser_lines.h"
#include "tuning/engine/conversation.h"
#include "tuning/engine/engine.h"

namespace trainer {

// The external optimiser of one sweep: a program that the launcher runs as a job, and that takes
// part in a tuning::Conversation over its report channel. It first sends {"t":"hello"}; each of its
// lines is answered with the next line of the conversation, once there is one. Lines "log", "hb"
// and "fail" get no answer.
//
// A program that ends, sends an invalid answer, or is silent for longer than the plan allows is
// stopped; another one is started and replays the conversation from the beginning. After
// kMostFailures consecutive failures without a suggestion the optimiser is given up. Use it on the
// loop's thread.
class Optimiser {
 public:
  static constexpr int kMostFailures = 3;

  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned, nor are the two below; all outlive this.
    bus::JobControl* jobs = nullptr;
    OptimiserLines* lines = nullptr;
    std::string relay = {};       // Path of the report channel's socket.
    std::string sweep_id = {};    // Part of its request ids and labels.
    std::string sweep_name = {};  // Part of the names of its jobs: NAME-optimiser-1, ...
    std::string trace = {};
    msg::RunTrialRequestT trial = {};  // Source of environment, directory and caller.
    // How many programs earlier trainers have started. The last one is stopped.
    std::int64_t started_before = 0;
    // Stores the number of programs started.
    std::function<absl::Status(std::int64_t started)> store_start = {};
    // Returns the sweep's engine; null if it is not loaded. Valid during the calling function.
    std::function<const tuning::Engine*()> engine = {};
    // Passes an answer to the engine, which has applied it when this returns.
    std::function<void(const tuning::Conversation::Answer&)> on_answer = {};
    // The optimiser is given up, for this reason. Never called from inside a call that causes it.
    std::function<void(std::string why)> on_failed = {};
  };
  static std::shared_ptr<Optimiser> Create(Options options);
  virtual ~Optimiser() = default;

  // Stops the program that an earlier trainer started: its conversation cannot be resumed.
  virtual void EndEarlier() = 0;
  // The engine has a question: starts a program unless one is running.
  virtual void Ask() = 0;
  // Stops its program and starts no other. Keep this object until HasLeft().
  virtual void Stop() = 0;
  virtual bool HasLeft() const = 0;  // True if none of its programs runs.
  // Returns what the sweep waits for, as text; empty if the optimiser is ready.
  virtual std::string WhyItWaits() const = 0;
};

}  // namespace trainer

#endif  // TRAINER_SWEEP_OPTIMISER_H_
