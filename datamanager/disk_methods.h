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
  const TrashKeeper* trash = nullptr;  // Outlives the service.
  // All runs, on threads of the service.
  std::function<absl::StatusOr<std::vector<RemovableRun>>()> runs;
  const runtime::Clock* clock = runtime::Clock::Real();  // Outlives the service.
};

// Serves what rpc::Datamanager says of disks: DiskUsage, Trash, RestoreRun, EmptyTrash.
void AddDiskMethods(bus::Service* service, DiskMethodsOptions options);

}  // namespace datamanager

#endif  // DATAMANAGER_DISK_METHODS_H_
