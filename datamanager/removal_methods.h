#ifndef DATAMANAGER_REMOVAL_METHODS_H_
#define DATAMANAGER_REMOVAL_METHODS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bus/call/client.h"
#include "bus/call/service.h"
#include "datamanager/catalog/run_removal.h"

namespace datamanager {

struct RemovalMethodsOptions {
  bus::Client* client = nullptr;  // To ask the trainer; outlives the service.
  std::string logdir;             // Absolute.
  // All runs, on threads of the service. (The follower of the run directory sees a removed run go.)
  std::function<absl::StatusOr<std::vector<RemovableRun>>()> runs;
};

// Serves rpc::Datamanager::RemoveRun. A trainer that has not answered within 5 s cannot be asked.
void AddRemovalMethods(bus::Service* service, RemovalMethodsOptions options);

}  // namespace datamanager

#endif  // DATAMANAGER_REMOVAL_METHODS_H_
