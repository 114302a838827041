#ifndef LAUNCHER_LAUNCHER_PARTS_H_
#define LAUNCHER_LAUNCHER_PARTS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bus/process/service_process.h"
#include "launcher/alert/notify_pace.h"
#include "launcher/share/resources.h"
#include "launcher/wire/process_limit.h"

namespace launcher {

// The parts of the launcher's process: the job table, the keeper of the other services, and their
// methods, counters and events. Create it before ServiceProcess::Run(); the process outlives it.
// Jobs and services continue to run when it is destroyed.
class LauncherParts {
 public:
  struct Options {
    bool external = false;             // Another supervisor starts the other services.
    std::vector<Resource> resources;   // Resources that tasks share.
    std::vector<ProcessLimit> limits;  // As in JobTable::Options.
    bool hides_gpus = false;           // As in JobTable::Options.
    std::string machine_directory;     // As in MachineLocks::Options.
    absl::Duration keep_jobs_for;      // As in JobTable::Options.
    std::size_t keep_jobs = 0;
    std::string notify = {};                            // See Notifier::Options::command.
    std::vector<std::string> notify_kinds = {};         // See Notifier::Options::kinds.
    NotifyPace::Options notify_pace = {};               // See Notifier::Options::pace.
    std::uint64_t disk_floor = 0;                       // As in MachineWatch::Options.
    absl::Duration node_lost_after = absl::Minutes(5);  // As in NodeTable::Options.
  };
  // Opens the stores, re-adopts jobs and services, and adds the methods to the service of
  // `process`. `process` is not owned.
  static absl::StatusOr<std::unique_ptr<LauncherParts>> Create(bus::ServiceProcess* process,
                                                               Options options);
  ~LauncherParts();
  LauncherParts(const LauncherParts&) = delete;
  LauncherParts& operator=(const LauncherParts&) = delete;

 private:
  class Impl;
  explicit LauncherParts(std::unique_ptr<Impl> impl);

  const std::unique_ptr<Impl> impl_;
};

}  // namespace launcher

#endif  // LAUNCHER_LAUNCHER_PARTS_H_
