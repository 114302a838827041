#ifndef LAUNCHER_RUN_LIVENESS_H_
#define LAUNCHER_RUN_LIVENESS_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "bus/schema/launcher_generated.h"
#include "launcher/wire/shim_protocol.h"
#include "runtime/event_loop.h"

namespace launcher {

// The liveness probe of one attempt. Runs one check at a time, periodically, until it is destroyed
// or the limit of consecutive failures is reached. Use on the loop's thread; it never blocks.
class Liveness {
 public:
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned; outlives the probe.
    // Must be valid: from a spec that CheckJobSpec() accepts.
    msg::ProbeT probe;
    std::string own_address = {};     // HOST:PORT of the task; empty if it has no address.
    std::string heartbeat_file = {};  // Created if it is missing.
    // Returns the spec whose environment and working directory a probe command runs in.
    std::function<ShimSpec()> spec = {};
    absl::Duration age = absl::ZeroDuration();  // How long the attempt has been running.
    // Called after each check with the reason of its failure; empty if it succeeded. Neither
    // callback may destroy the probe.
    std::function<void(const std::string& why)> on_look = {};
    // Called once, after on_look, when the limit of failures is reached; `reason` is a message. No
    // check follows.
    std::function<void(const std::string& reason)> on_failed = {};
  };
  // Starts the probe; the first check runs after its start delay, by default one period.
  static std::unique_ptr<Liveness> Begin(Options options);
  ~Liveness();
  Liveness(const Liveness&) = delete;
  Liveness& operator=(const Liveness&) = delete;

 private:
  class Impl;
  explicit Liveness(std::unique_ptr<Impl> impl);

  const std::unique_ptr<Impl> impl_;
};

}  // namespace launcher

#endif  // LAUNCHER_RUN_LIVENESS_H_
