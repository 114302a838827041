#ifndef BUS_PROCESS_SERVICE_PROCESS_H_
#define BUS_PROCESS_SERVICE_PROCESS_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bus/call/client.h"
#include "bus/call/service.h"
#include "bus/event/publisher.h"
#include "bus/thread/node.h"
#include "runtime/coordinator.h"
#include "runtime/event_loop.h"
#include "runtime/file/locations.h"
#include "runtime/thread_pool.h"

namespace bus {

// Does the work of every service's main(), in this order: signals blocked before any thread,
// logging, locations, the service's lock (a second copy ends with AlreadyExists naming the first:
// exit 6), clock, event loop, coordinator, pool, node, socket, and then registration, the ready
// line and file, run, stop. A main() makes it, adds its components and methods, and returns Run().
// It serves the methods of every service (Stats, Metrics, SetLogLevel, Shutdown).
class ServiceProcess {
 public:
  struct Options {
    std::string name = {};                          // "launcher"
    absl::Duration stop_grace = absl::Seconds(10);  // --stop_grace
    std::string supervisor = {};  // --supervisor; told to the registry as a label.
    std::string listen = {};      // --listen; empty: the service's ipc address. tcp:// is refused.
    int pool_threads = 4;
  };
  static absl::StatusOr<std::unique_ptr<ServiceProcess>> Create(Options options);
  // InvalidArgument: what Create() would say of the options and of the flags that every service
  // has.
  static absl::Status CheckFlags(const Options& options);
  virtual ~ServiceProcess() = default;

  virtual const runtime::Locations& locations() const = 0;
  virtual runtime::Clock* clock() = 0;
  virtual runtime::EventLoop* loop() = 0;
  virtual runtime::Coordinator* coordinator() = 0;
  virtual runtime::ThreadPool* pool() = 0;
  virtual Node* node() = 0;
  virtual Service* service() = 0;
  virtual Client* client() = 0;
  virtual Publisher* publisher() = 0;

  // Adds "counter NAME has VALUE" to Stats and Metrics; `value` is called on any thread. A counter
  // only grows, a gauge goes up and down. The counters of the bus ("bus.*", see
  // bus/thread/counters.h) are there already.
  virtual void AddCounter(std::string name, std::function<std::uint64_t()> value) = 0;
  virtual void AddGauge(std::string name, std::function<std::uint64_t()> value) = 0;
  // `stop` runs on the loop's thread when a stop is asked for; last added, first called.
  virtual void OnStop(std::function<void()> stop) = 0;
  // Keeps the process alive during a graceful stop until the returned handle is destroyed, for at
  // most stop_grace.
  virtual std::shared_ptr<void> HoldStop() = 0;
  // More than its own socket is to be there: `bind_again` runs on the loop's thread when the file
  // of an "ipc://" address is gone.
  virtual void KeepSocket(std::string endpoint, std::function<absl::Status()> bind_again) = 0;

  // Starts the socket, registers with the registry (waits for one and says so, without blocking
  // the loop; renews; registers anew after a registry restart), says ready (one line on stderr,
  // a file RUNTIME/NAME.ready with its pid, and a notice to its supervisor, as it gets one when the
  // stop begins (runtime/process/supervisor_notice.h)), runs the event loop on the calling thread
  // until a stop (signal, Shutdown, a task's error), stops gracefully within stop_grace, and
  // returns the exit code (runtime/process/exit_code.h). A second signal stops at once.
  virtual int Run() = 0;
};

}  // namespace bus

#endif  // BUS_PROCESS_SERVICE_PROCESS_H_
