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

// Attempts that are over: each is acknowledged once its end is stored, and kept until its shim has
// left. On the loop's thread.
class RetiredAttempts {
 public:
  // Nobody waits for an acknowledgement: it comes up to this much after the end is stored, as it
  // would hold up a task that is about to start, or to start again.
  static constexpr absl::Duration kPause = absl::Milliseconds(3);

  // `loop` is not owned, and outlives this.
  explicit RetiredAttempts(runtime::EventLoop* loop) : loop_(loop) {}

  // Keeps an attempt of the job whose end is not stored yet.
  void Add(const std::string& job, std::unique_ptr<Attempt> attempt);
  // Keeps an attempt whose end an earlier launcher has stored, and acknowledges it.
  void AddStored(const std::string& job, std::unique_ptr<Attempt> attempt);
  // Attempts that were added since the last call: pass them to Acknowledge() once their ends are
  // stored.
  std::vector<Attempt*> TakeNew();
  void Acknowledge(std::vector<Attempt*> stored);
  // The attempt has left (Attempt::Callbacks::on_left; not from inside that call): destroys it.
  // Returns its job, which is empty if the attempt is not here.
  std::string Remove(const Attempt* attempt);
  // True while an attempt of the job is here.
  bool HasOf(const std::string& job) const;

 private:
  struct Retired {
    std::unique_ptr<Attempt> attempt;
    std::string job;
  };
  runtime::EventLoop* const loop_;
  std::map<const Attempt*, Retired> retired_;
  std::vector<Attempt*> new_;     // In retired_; their ends are not stored.
  std::vector<Attempt*> stored_;  // In retired_; not acknowledged yet.
  runtime::Timer timer_;          // Set while stored_ has some.
};

}  // namespace launcher

#endif  // LAUNCHER_RUN_RETIRED_ATTEMPTS_H_
