#include "tools/yard/services/service_rows.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>
#include <utility>

#include "tools/yard/state/service_presence.h"

namespace yard {

std::vector<ServiceRow> ServiceRows(const Context& context, const absl::StatusOr<Leases>& leases) {
  std::vector<ServiceRow> rows;
  const std::vector<std::string> own = ServicesOf(context.locations);
  for (const std::string& service : own) {
    ServiceRow row{.service = service, .pid = HolderOf(context.locations, service)};
    row.state = row.pid == 0 ? "down" : leases.ok() ? "starting" : "unknown";
    rows.push_back(std::move(row));
  }
  if (!leases.ok()) return rows;
  for (const auto& lease : *leases) {
    const int pid = lease->process != nullptr ? lease->process->pid : 0;
    ServiceRow row{.service = lease->name,
                   .instance = lease->instance,
                   .state = lease->state == msg::LeaseState::Up ? "up" : "suspect",
                   .pid = pid,
                   .since_us = lease->registered_us,
                   .endpoint = lease->endpoints.empty() ? "" : lease->endpoints.front()};
    // Instance "0" of a service is the yard's own.
    const auto services = rows.begin() + static_cast<std::ptrdiff_t>(own.size());
    const auto known = std::find_if(rows.begin(), services, [&](const ServiceRow& r) {
      return r.service == row.service && row.instance == "0";
    });
    if (known != services) {
      *known = std::move(row);
    } else {
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

void AddRestarts(const msg::ServicesReplyT& kept, std::vector<ServiceRow>* rows) {
  for (const auto& service : kept.services) {
    for (ServiceRow& row : *rows) {
      if (row.service == service->name) row.restarts = service->restarts;
    }
  }
}

}  // namespace yard
