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

// The external optimiser of one sweep: a program that the launcher runs as a job, with a report
// channel on which it hears tuning::Conversation. It says {"t":"hello"} first; each of its lines
// is answered with the next one of the conversation, once there is one. Lines "log", "hb" and
// "fail" have no answer.
//
// A program that ends, says what is no answer, or is silent for longer than the plan allows is
// ended, and another one is started and told all from the beginning. After kMostFailures of them
// without a suggestion in between it is given up. On the loop's thread.
class Optimiser {
 public:
  static constexpr int kMostFailures = 3;

  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned, as the two below; all outlive it.
    bus::JobControl* jobs = nullptr;
    OptimiserLines* lines = nullptr;
    std::string relay = {};       // Path of the report channel's socket.
    std::string sweep_id = {};    // As its request ids and labels have it,
    std::string sweep_name = {};  // and as its jobs are called: NAME-optimiser-1, ...
    std::string trace = {};
    msg::RunTrialRequestT trial = {};  // Environment, directory and caller are those of the trials.
    // So many of its programs were started by earlier trainers. The last one is ended.
    std::int64_t started_before = 0;
    // Stores that so many have been started.
    std::function<absl::Status(std::int64_t started)> store_start = {};
    // The sweep's engine; null: it is not at hand. It outlives the call that it is for.
    std::function<const tuning::Engine*()> engine = {};
    // Something for the engine. It has taken it when this returns.
    std::function<void(const tuning::Conversation::Answer&)> on_answer = {};
    // It is given up, with the reason. Later than the call that has led to it.
    std::function<void(std::string why)> on_failed = {};
  };
  static std::shared_ptr<Optimiser> Create(Options options);
  virtual ~Optimiser() = default;

  // Ends what an earlier trainer has started, which cannot be gone on with.
  virtual void EndEarlier() = 0;
  // The engine asks: starts a program unless one runs.
  virtual void Ask() = 0;
  // Ends its program, and asks for nothing any more. Keep it until HasLeft().
  virtual void Stop() = 0;
  virtual bool HasLeft() const = 0;  // None of its programs runs.
  // For what the sweep waits, in words; empty: the optimiser is ready.
  virtual std::string WhyItWaits() const = 0;
};

}  // namespace trainer

#endif  // TRAINER_SWEEP_OPTIMISER_H_
