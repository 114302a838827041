#ifndef TOOLS_YARD_SERVICES_SERVICE_ROWS_H_
#define TOOLS_YARD_SERVICES_SERVICE_ROWS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bus/schema/launcher_generated.h"
#include "tools/yard/cli/context.h"
#include "tools/yard/services/leases.h"

namespace yard {

// A service as it is shown to people.
struct ServiceRow {
  std::string service = "", instance = "";
  std::string state = "";  // "up", "suspect", "starting", "down", "unknown".
  int pid = 0;             // 0 if unknown.
  std::int64_t since_us = 0;
  std::uint32_t restarts = 0;
  std::string endpoint = "";
};

// Returns the services of the yard, running or not, followed by everything else that is registered.
std::vector<ServiceRow> ServiceRows(const Context& context, const absl::StatusOr<Leases>& leases);
// Adds the launcher's restart counts of the services that it supervises.
void AddRestarts(const msg::ServicesReplyT& kept, std::vector<ServiceRow>* rows);

}  // namespace yard

#endif  // TOOLS_YARD_SERVICES_SERVICE_ROWS_H_
