#ifndef LAUNCHER_RUN_ATTEMPT_H_
#define LAUNCHER_RUN_ATTEMPT_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "launcher/wire/shim_protocol.h"

namespace launcher {

// How an attempt ended.
struct AttemptEnd {
  // Exit status and final offsets, as far as known if no process observed the end.
  ShimState state;
  bool lost = false;  // No process observed its end.
  // The shim died before the program; the attempt's remaining processes have been killed.
  bool shim_lost = false;
  std::string how;  // For messages: "exit code 3", "the shim was killed (signal 9)".
  // True if the program ended with exit code 0 and its shim survived it.
  bool success() const;
};

// One attempt of a task, seen from the launcher: starts it, or re-adopts it after a restart of the
// launcher, and reports its progress. Whichever process is killed at whatever moment, the program
// is started at most once, and on_over is called exactly once, after all processes of the attempt
// have ended (except processes that the kernel cannot kill). Use on the loop's thread. Implemented
// for this host (local_attempt.h) and for other hosts (launcher/node/remote_attempt.h).
class Attempt {
 public:
  struct Callbacks {
    std::function<void(const ShimState&)> on_running;  // Called once, before all others.
    // Called at most once: the task has signalled that it is ready.
    std::function<void()> on_ready = {};
    std::function<void(const ShimState&)> on_output;  // The log files have grown.
    // The program has arrived at a barrier; answer with AnswerBarrier(). A new launcher gets the
    // same call again.
    std::function<void(const ShimBarrier&)> on_barrier = {};
    // Results of a liveness probe that runs on the attempt's host. on_look: why the latest check
    // failed (empty if it succeeded). on_probe_failed: the attempt must be ended, for this reason.
    // Both may be called repeatedly.
    std::function<void(const std::string& why)> on_look = {};
    std::function<void(const std::string& reason)> on_probe_failed = {};
    // The attempt has ended. Store its end, then call Acknowledge().
    std::function<void(const AttemptEnd&)> on_over;
    std::function<void()> on_left;  // Called last, after Acknowledge(): nothing is left to do.
  };
  // The callbacks must not destroy the attempt; post its destruction to the loop.
  virtual ~Attempt() = default;

  // Starts a new attempt. After an error nothing runs.
  virtual absl::Status Start() = 0;
  // Re-adopts an attempt that an earlier launcher has, or may have, started.
  virtual void Adopt() = 0;
  // Sends a signal to the attempt, and kills its whole process tree after `grace`.
  virtual void Stop(int signal, absl::Duration grace) = 0;
  // Sends a signal to the attempt's process group. Returns false if the attempt's shim cannot be
  // reached.
  virtual bool Signal(int signal) = 0;
  // Passes the answer to barrier `number` on to the program.
  virtual void AnswerBarrier(std::uint64_t number, std::string line) = 0;
  // Releases the attempt; call this once its end is stored. Call it also, without Adopt(), for an
  // attempt whose end an earlier launcher has stored: if that launcher was killed before this call,
  // the spec still exists.
  virtual void Acknowledge() = 0;
  // Returns true once the attempt with this folder was acknowledged, on whichever host it ran.
  static bool IsAcknowledged(const std::string& folder);
};

// Returns the path of the spec in an attempt's folder. A missing spec means that the attempt was
// acknowledged or was never started.
std::string SpecPath(const std::string& folder);
// Describes the end of an attempt for messages: "exit code 3".
std::string HowItEnded(const ShimState& state);

}  // namespace launcher

#endif  // LAUNCHER_RUN_ATTEMPT_H_
