#ifndef LAUNCHER_RUN_RETIRED_ATTEMPTS_H_
#define LAUNCHER_RUN_RETIRED_ATTEMPTS_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "launcher/run/attempt.h"
#include "runtime/event_loop.h"
#include "runtime/timer.h"

namespace launcher {

// Attempts that have ended: each is acknowledged once its end is stored, and kept until its shim
// has left. Use on the loop's thread.
class RetiredAttempts {
 public:
  // Acknowledgements are delayed by up to this time after the end is stored. They are not urgent,
  // and would hold up a task that is about to start or restart.
  static constexpr absl::Duration kPause = absl::Milliseconds(3);

  // `loop` is not owned and outlives this object.
  explicit RetiredAttempts(runtime::EventLoop* loop) : loop_(loop) {}

  // Adds an attempt of a job whose end is not stored yet.
  void Add(const std::string& job, std::unique_ptr<Attempt> attempt);
  // Adds an attempt whose end an earlier launcher has stored, and acknowledges it.
  void AddStored(const std::string& job, std::unique_ptr<Attempt> attempt);
  // Returns the attempts that were added since the last call; pass them to Acknowledge() once their
  // ends are stored.
  std::vector<Attempt*> TakeNew();
  void Acknowledge(std::vector<Attempt*> stored);
  // Destroys an attempt after Attempt::Callbacks::on_left, but not from inside that call. Returns
  // its job; empty if the attempt was not added.
  std::string Remove(const Attempt* attempt);
  // True while it keeps an attempt of the job.
  bool HasOf(const std::string& job) const;

 private:
  struct Retired {
    std::unique_ptr<Attempt> attempt;
    std::string job;
  };
  runtime::EventLoop* const loop_;
  std::map<const Attempt*, Retired> retired_;
  std::vector<Attempt*> new_;     // Attempts in retired_ whose ends are not stored.
  std::vector<Attempt*> stored_;  // Attempts in retired_ that are not acknowledged yet.
  runtime::Timer timer_;          // Set while stored_ is not empty.
};

}  // namespace launcher

#endif  // LAUNCHER_RUN_RETIRED_ATTEMPTS_H_
