#ifndef TOOLS_YARD_SERVICES_INSTANCES_H_
#define TOOLS_YARD_SERVICES_INSTANCES_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bus/schema/registry_generated.h"
#include "nlohmann/json.hpp"
#include "tools/yard/cli/context.h"

namespace yard {

// Returns the running tools of this user whose info files are in the caller's temporary directory,
// or in one that the registry knows.
absl::StatusOr<std::vector<std::unique_ptr<msg::InstanceT>>> RunningInstances(Context& context);
// Returns "logdir /runs", or "db sqlite:x".
std::string DataSource(const msg::InstanceInfoT& info);
nlohmann::json ToJson(const msg::InstanceT& instance);

}  // namespace yard

#endif  // TOOLS_YARD_SERVICES_INSTANCES_H_
