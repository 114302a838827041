#ifndef DATAMANAGER_DISK_METHODS_H_
#define DATAMANAGER_DISK_METHODS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bus/call/service.h"
#include "datamanager/catalog/run_removal.h"
#include "datamanager/catalog/trash_keeper.h"
#include "runtime/clock.h"

namespace datamanager {

struct DiskMethodsOptions {
  std::string logdir;                  // Absolute.
  const TrashKeeper* trash = nullptr;  // Must outlive the service.
  // Returns all runs. Runs on the service's threads.
  std::function<absl::StatusOr<std::vector<RemovableRun>>()> runs;
  const runtime::Clock* clock = runtime::Clock::Real();  // Must outlive the service.
};

// Serves rpc::Datamanager's methods about disks: DiskUsage, Trash, RestoreRun, EmptyTrash.
void AddDiskMethods(bus::Service* service, DiskMethodsOptions options);

}  // namespace datamanager

#endif  // DATAMANAGER_DISK_METHODS_H_
