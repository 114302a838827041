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
  ShimState state;    // Exit status and final offsets; as far as known if there was no witness.
  bool lost = false;  // Nobody saw its end.
  // The shim was gone before the program ended; what was left of it has been killed.
  bool shim_lost = false;
  std::string how;  // In words: "exit code 3", "the shim was killed (signal 9)".
  bool success() const;
};

// One attempt of a task, from the launcher's side: starts it, or finds it again after a restart of
// the launcher, and tells what becomes of it. Whichever process is killed at whatever moment, the
// program is started at most once, and on_over comes exactly once, after the processes of the
// attempt (but for one that the kernel does not let die). On the loop's thread. Implemented for
// this host (local_attempt.h) and for others (launcher/node/remote_attempt.h).
class Attempt {
 public:
  struct Callbacks {
    std::function<void(const ShimState&)> on_running;  // Once, before any other.
    std::function<void()> on_ready = {};               // Once at most: it has said so.
    std::function<void(const ShimState&)> on_output;   // The log files have grown.
    // The program is at a barrier: answer with AnswerBarrier(). Called again in a new launcher.
    std::function<void(const ShimBarrier&)> on_barrier = {};
    // A liveness probe that the attempt's host looks at: why the last look has failed (empty: it
    // has not), and that the attempt has to be ended for this reason. Both may come again.
    std::function<void(const std::string& why)> on_look = {};
    std::function<void(const std::string& reason)> on_probe_failed = {};
    std::function<void(const AttemptEnd&)> on_over;  // Store it, then Acknowledge().
    std::function<void()> on_left;  // After Acknowledge(): nothing of it is left to do. Last.
  };
  // None of the callbacks may destroy the attempt: post that to the loop.
  virtual ~Attempt() = default;

  // A new attempt. An error if it cannot be begun: then nothing runs.
  virtual absl::Status Start() = 0;
  // An attempt that an earlier launcher has, or may have, started.
  virtual void Adopt() = 0;
  virtual void Stop(int signal, absl::Duration grace) = 0;
  // To its process group, and nothing more. False if nobody is there to do it.
  virtual bool Signal(int signal) = 0;
  virtual void AnswerBarrier(std::uint64_t number, std::string line) = 0;
  // Call this once the end is stored: lets the attempt go. Also for an attempt that an earlier
  // launcher has seen end, without Adopt(): its spec is still there if that launcher did not come
  // to this call.
  virtual void Acknowledge() = 0;
  // True once the attempt with this folder was acknowledged, wherever it ran.
  static bool IsAcknowledged(const std::string& folder);
};

// Path of the spec in an attempt's folder. Its absence says that the attempt was acknowledged, or
// never begun.
std::string SpecPath(const std::string& folder);
// The attempt's end in words, by its state.
std::string HowItEnded(const ShimState& state);

}  // namespace launcher

#endif  // LAUNCHER_RUN_ATTEMPT_H_
