#ifndef DATAMANAGER_REMOVAL_METHODS_H_
#define DATAMANAGER_REMOVAL_METHODS_H_

#include <functional>
#include <string>
#include <vector>

#include "bus/client.h"
#include "bus/service.h"
#include "datamanager/run_removal.h"

namespace datamanager {

struct RemovalMethodsOptions {
  bus::Client* client = nullptr;  // To ask the trainer; outlives the service.
  std::string logdir;             // Absolute.
  // All runs, and what is to be done once one is gone. On threads of the service.
  std::function<std::vector<RemovableRun>()> runs;
  std::function<void()> removed;
};

// Serves rpc::Datamanager::RemoveRun. A trainer that has not answered within 5 s cannot be asked.
void AddRemovalMethods(bus::Service* service, RemovalMethodsOptions options);

}  // namespace datamanager

#endif  // DATAMANAGER_REMOVAL_METHODS_H_
