#ifndef TRAINER_SWEEP_OPTIMISER_H_
#define TRAINER_SWEEP_OPTIMISER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bus/launcher_client/job_control.h"
#include "bus/schema/launcher_generated.h"
#include "bus/schema/trainer_generated.h"
#include "runtime/event_loop.h"
#include "runtime/timer.h"
#include "trainer/attempt/program_runner.h"
#include "trainer/report/line_receiver.h"
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
class Optimiser : public std::enable_shared_from_this<Optimiser> {
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
  ~Optimiser();
  Optimiser(const Optimiser&) = delete;
  Optimiser& operator=(const Optimiser&) = delete;

  // Stops the program that an earlier trainer started: its conversation cannot be resumed.
  void EndEarlier();
  // The engine has a question: starts a program unless one is running.
  void Ask();
  // Stops its program and starts no other. Keep this object until HasLeft().
  void Stop();
  bool HasLeft() const { return runners_.empty(); }  // True if none of its programs runs.
  // Returns what the sweep waits for, as text; empty if the optimiser is ready.
  std::string WhyItWaits() const;

 private:
  explicit Optimiser(Options options);
  absl::StatusOr<std::string> TakeLine(const RelayedLine& line);
  absl::StatusOr<std::string> Reply();
  void ExpectAnswer(const tuning::Engine& engine);
  std::string RequestId(std::int64_t number) const;
  std::string NameOf(std::int64_t number) const;
  msg::JobSpecT SpecOf(const tuning::Engine& engine, std::int64_t number) const;
  void Start();
  std::shared_ptr<ProgramRunner> Run(
      const tuning::Engine& engine, std::int64_t number,
      std::function<void(const absl::StatusOr<std::string>&)> on_launched,
      std::function<void(const ProgramEnd&)> on_ended);
  void StartLater();
  void TakeRefusal(const absl::Status& status);
  void TakeEnd(const ProgramEnd& end);
  void Drop();
  void EndProgram(absl::Duration grace);
  void Fail(std::string why);

  const Options options_;
  std::int64_t started_;
  bool has_ended_earlier_ = false;
  bool is_over_ = false;
  int failures_ = 0;  // Since its last suggestion.
  std::string last_failure_;
  std::map<std::int64_t, std::shared_ptr<ProgramRunner>> runners_;  // Kept until they have ended.
  runtime::Timer retry_timer_;

  // State of the current program.
  std::shared_ptr<ProgramRunner> runner_;  // Null if no program runs.
  std::string nonce_;
  tuning::Conversation conversation_;
  std::uint64_t changes_ = 0;  // Engine::changes() when it started.
  bool has_greeted_ = false, is_ready_ = false;
  bool is_held_ = false;              // Its last line has no answer yet.
  std::int64_t taken_ = 0;            // Number of its last line.
  std::optional<std::string> reply_;  // Answer to that line.
  std::string said_;                  // Its own text of a failure.
  runtime::Timer timer_;
};

}  // namespace trainer

#endif  // TRAINER_SWEEP_OPTIMISER_H_
