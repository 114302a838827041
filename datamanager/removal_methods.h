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
  bus::Client* client = nullptr;  // To call the trainer; must outlive the service.
  std::string logdir;             // Absolute.
  // Returns all runs. Runs on the service's threads. (The follower of the run directory notices the
  // removal itself.)
  std::function<absl::StatusOr<std::vector<RemovableRun>>()> runs;
};

// Serves rpc::Datamanager::RemoveRun. A trainer that does not answer within 5 s counts as
// unreachable.
void AddRemovalMethods(bus::Service* service, RemovalMethodsOptions options);

}  // namespace datamanager

#endif  // DATAMANAGER_REMOVAL_METHODS_H_
