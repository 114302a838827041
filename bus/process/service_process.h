#ifndef BUS_PROCESS_SERVICE_PROCESS_H_
#define BUS_PROCESS_SERVICE_PROCESS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bus/call/client.h"
#include "bus/call/service.h"
#include "bus/event/publisher.h"
#include "bus/thread/node.h"
#include "runtime/clock.h"
#include "runtime/coordinator.h"
#include "runtime/event_loop.h"
#include "runtime/file/locations.h"
#include "runtime/file/unique_fd.h"
#include "runtime/mutex.h"
#include "runtime/thread.h"
#include "runtime/thread_pool.h"

namespace runtime {
class StopSignal;
}

namespace bus {

class Registration;
class StatsSource;

// Does the common work of every service's main(), in this order: blocks signals before any thread
// starts; sets up logging, locations, the service's lock (a second copy fails with AlreadyExists,
// which names the first: exit code 6), clock, event loop, coordinator, pool, node and socket; then
// registers, announces that it is ready, runs and stops. A main() creates it, adds its components
// and methods, and returns Run(). It serves the methods of every service (Stats, Metrics,
// SetLogLevel, Shutdown).
class ServiceProcess {
 public:
  struct Options {
    std::string name = {};                          // "launcher"
    absl::Duration stop_grace = absl::Seconds(10);  // --stop_grace
    std::string supervisor = {};                    // --supervisor; a label of its lease.
    std::string listen = {};  // --listen; empty: the service's ipc address. tcp:// is refused.
    int pool_threads = 4;
  };
  static absl::StatusOr<std::unique_ptr<ServiceProcess>> Create(Options options);
  // Returns InvalidArgument if Create() would refuse the options, or the flags that every service
  // has.
  static absl::Status CheckFlags(const Options& options);
  ~ServiceProcess();
  ServiceProcess(const ServiceProcess&) = delete;
  ServiceProcess& operator=(const ServiceProcess&) = delete;

  const runtime::Locations& locations() const { return locations_; }
  runtime::Clock* clock() { return clock_; }
  runtime::EventLoop* loop() { return loop_.get(); }
  runtime::Coordinator* coordinator() { return &coordinator_; }
  runtime::ThreadPool* pool() { return pool_.get(); }
  Node* node() { return node_.get(); }
  Service* service() { return service_.get(); }
  Client* client() { return client_.get(); }
  Publisher* publisher() { return publisher_.get(); }

  // Adds the counter or gauge NAME to Stats and Metrics; `value` is called on any thread. A counter
  // only grows, a gauge goes up and down. The bus's counters ("bus.*", see bus/thread/counters.h)
  // are included automatically.
  void AddCounter(std::string name, std::function<std::uint64_t()> value);
  void AddGauge(std::string name, std::function<std::uint64_t()> value);
  // Adds a callback that runs on the loop's thread when a stop begins; the last added runs first.
  void OnStop(std::function<void()> stop);
  // Delays the end of a graceful stop until the returned handle is destroyed, for at most
  // stop_grace.
  std::shared_ptr<void> HoldStop();
  // Maintains another socket: `bind_again` runs on the loop's thread when the file of its "ipc://"
  // address is missing.
  void KeepSocket(std::string endpoint, std::function<absl::Status()> bind_again);

  // Starts the socket; registers (waits for a registry, and logs that it waits, without blocking
  // the loop; renews the lease; registers again after a restart of the registry); announces that it
  // is ready, by one line on stderr, a file RUNTIME/NAME.ready with its pid, and a notice to its
  // supervisor, which also gets one when the stop begins (runtime/process/supervisor_notice.h);
  // runs the event loop on the calling thread until a stop (a signal, Shutdown, a task's error);
  // stops gracefully within stop_grace; returns the exit code (runtime/process/exit_code.h). A
  // second signal stops the process at once.
  int Run();

 private:
  struct KeptSocket {
    std::string endpoint;
    std::function<absl::Status()> bind_again;
  };

  explicit ServiceProcess(Options options);
  absl::Status Init();
  absl::Status TakeLocks();
  absl::Status Open();
  void HandleCommonMethods();
  void Register();
  void SayReady();
  void WriteReadyFile();
  // Restores its files after another program, such as a cleaner of temporary files, removed them.
  void LookAtFiles();
  absl::Status MakeFilesAnew();
  void Touch() const;
  std::string StateLockPath() const;
  std::string ReadyPath() const;
  // Ready file of the previous process, until this one is ready.
  std::string LastReadyPath() const;
  void RemoveReadyFiles() const;
  // On the loop's thread only.
  void BeginStop(const std::string& why);
  void HoldsEnded();
  void Leave();
  int Join();

  const Options options_;
  runtime::Clock* const clock_ = runtime::Clock::Real();
  const absl::Duration started_ = clock_->Monotonic();
  std::string endpoint_;
  runtime::Locations locations_;
  runtime::UniqueFd lock_, state_lock_;
  runtime::Coordinator coordinator_;

  std::unique_ptr<runtime::EventLoop> loop_;
  std::unique_ptr<runtime::StopSignal> stop_signal_;
  std::unique_ptr<Node> node_;
  std::unique_ptr<runtime::ThreadPool> pool_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<Client> client_;
  std::unique_ptr<Publisher> publisher_;
  std::unique_ptr<StatsSource> stats_;
  std::unique_ptr<Registration> registration_;
  std::unique_ptr<runtime::Thread> stop_watch_;

  // Loop's thread only.
  std::vector<std::function<void()>> on_stop_;
  std::vector<KeptSocket> sockets_;
  int looks_ = 0;
  bool ready_ = false;
  std::string file_trouble_;  // The last logged trouble.
  bool stopping_ = false;
  bool left_ = false;
  absl::Duration stop_deadline_;

  runtime::Mutex mutex_;
  // Its use count is the number of holds on the stop; BeginStop() releases this one.
  std::shared_ptr<void> hold_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace bus

#endif  // BUS_PROCESS_SERVICE_PROCESS_H_
