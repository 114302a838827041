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
// (wanted_services.h) exists, which `yard up` writes and `yard down` removes. Use on the loop's
// thread.
//
// A service that holds its lock is adopted and watched, as soon as it takes the lock, whichever
// process started it. A service that does not hold its lock is started, in a new session, so that
// it outlives the launcher. A service that dies is restarted at once, and then with an increasing
// delay up to 5 s, which is reset when the file is written again. A registry whose ready file says
// "supervisor=external" is left alone. Without the file no service is started. The gate is kept
// once its key exists, STATE/gate/server.key.
class ServiceKeeper {
 public:
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned; outlives the keeper.
    runtime::Clock* clock = runtime::Clock::Real();
    runtime::Locations locations;
    std::vector<std::string> environment;  // The environment of the services.
    // Returns the path of a program by its label path ("registry/registry").
    std::function<absl::StatusOr<std::string>(std::string_view)> find_binary;
    std::function<double()> random;  // In [0, 1).
    // Another supervisor starts the services, so the keeper only watches them.
    bool external = false;
    std::function<void(const msg::SupervisedServiceT&)> on_change;  // Optional.
    // Called when a wanted service has ended without a request and is restarted: with a description
    // of its end, and its start time. Optional.
    std::function<void(const std::string& service, const std::string& how, std::int64_t started_us)>
        on_restart = {};
  };
  // Reads the file and starts the services that do not run.
  static absl::StatusOr<std::unique_ptr<ServiceKeeper>> Create(Options options);
  ~ServiceKeeper();  // The services continue to run.
  ServiceKeeper(const ServiceKeeper&) = delete;
  ServiceKeeper& operator=(const ServiceKeeper&) = delete;

  std::vector<msg::SupervisedServiceT> Services() const;
  // Returns the directory of the yard's runs; empty while the yard is not wanted.
  std::string LogDirectory() const;
  // Call this when the launcher stops: the keeper starts no more services. If the yard is no longer
  // wanted, it asks the gate, web, the trainer and then the datamanager to stop, and calls `done`
  // when they have; the registry is left to `yard down`. Otherwise it calls `done` at once.
  void Stop(std::function<void()> done);

 private:
  class Impl;
  explicit ServiceKeeper(std::unique_ptr<Impl> impl);

  const std::unique_ptr<Impl> impl_;
};

}  // namespace launcher

#endif  // LAUNCHER_SERVICE_KEEPER_H_
