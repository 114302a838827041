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

// The liveness probe of one attempt: looks again and again, one look at a time, until it is
// destroyed or so many looks in a row have failed. On the loop's thread, which it never blocks.
class Liveness {
 public:
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned; outlives the probe.
    // A spec that CheckJobSpec() lets pass has it.
    msg::ProbeT probe;
    std::string own_address = {};     // HOST:PORT of the task; empty: it has none.
    std::string heartbeat_file = {};  // Made if it is missing.
    // The environment and the directory in which a command of the probe runs.
    std::function<ShimSpec()> spec = {};
    absl::Duration age = absl::ZeroDuration();  // How long the attempt runs already.
    // After each look: why it has failed; empty: it has not. Neither callback may destroy the
    // probe.
    std::function<void(const std::string& why)> on_look = {};
    // Once, after on_look: the reason in words. No look follows.
    std::function<void(const std::string& reason)> on_failed = {};
  };
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
