#ifndef LAUNCHER_SERVICE_KEEPER_H_
#define LAUNCHER_SERVICE_KEEPER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/schema/launcher_generated.h"
#include "runtime/clock.h"
#include "runtime/event_loop.h"
#include "runtime/file/locations.h"

namespace launcher {

// Keeps the yard's other services running while the yard is wanted: while the file STATE/wanted
// (wanted_services.h) exists, which `yard up` writes and `yard down` removes. On the loop's thread.
//
// A service that holds its lock is adopted and watched, as soon as it takes the lock, whoever
// started it. A service that does not hold its lock is started, in a session of its own, so that it
// outlives the launcher. A service that dies is restarted at once, then with a growing delay up to
// 5 s, which ends when the file is written again. A registry whose ready file says
// "supervisor=external" is left alone. Without the file nothing is started. The gate is kept once
// there is a key for it, STATE/gate/server.key.
class ServiceKeeper {
 public:
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned; outlives the keeper.
    runtime::Clock* clock = runtime::Clock::Real();
    runtime::Locations locations;
    std::vector<std::string> environment;  // Environment of the services.
    // Path of a program by its label path ("registry/registry").
    std::function<absl::StatusOr<std::string>(std::string_view)> find_binary;
    std::function<double()> random;  // In [0, 1).
    bool external = false;           // Somebody else supervises the services: only watches them.
    std::function<void(const msg::SupervisedServiceT&)> on_change;  // Optional.
    // A service that is wanted has ended although nobody had asked it to, and is started again:
    // how it ended, in words, and when it had begun. Optional.
    std::function<void(const std::string& service, const std::string& how, std::int64_t started_us)>
        on_restart = {};
  };
  // Looks at the file and starts what is missing.
  static absl::StatusOr<std::unique_ptr<ServiceKeeper>> Create(Options options);
  ~ServiceKeeper();  // The services go on.
  ServiceKeeper(const ServiceKeeper&) = delete;
  ServiceKeeper& operator=(const ServiceKeeper&) = delete;

  std::vector<msg::SupervisedServiceT> Services() const;
  // Where the yard's runs are; empty while the yard is not wanted.
  std::string LogDirectory() const;
  // Call this when the launcher stops: nothing more is started. If the yard is not wanted any more,
  // the gate, web, the trainer and then the datamanager are asked to stop, and `done` runs when
  // they have; the registry is left to `yard down`. Else `done` runs at once.
  void Stop(std::function<void()> done);

 private:
  class Impl;
  explicit ServiceKeeper(std::unique_ptr<Impl> impl);

  const std::unique_ptr<Impl> impl_;
};

}  // namespace launcher

#endif  // LAUNCHER_SERVICE_KEEPER_H_
