#include "tools/yard/services/leases.h"

#include <cstdint>
#include <string>
#include <utility>

#include "absl/time/clock.h"
#include "bus/schema/registry_methods.h"
#include "tools/yard/state/service_names.h"

namespace yard {
namespace {

constexpr std::uint32_t kPage = 500;

// Appends a page of leases. Returns true if more pages follow.
absl::StatusOr<bool> ReadPage(bus::Client& client, const msg::ListRequestT& request,
                              absl::Time deadline, Leases* leases) {
  const absl::Duration left = deadline - absl::Now();
  if (left <= absl::ZeroDuration()) {
    return absl::DeadlineExceededError("the registry has more to tell than there is time for");
  }
  auto reply = client.Call<rpc::Registry::List>(request, {.timeout = left});
  if (!reply.ok()) return reply.status();
  for (auto& lease : reply->leases) {
    if (lease != nullptr) leases->push_back(std::move(lease));
  }
  return reply->more && !leases->empty();
}

}  // namespace

absl::StatusOr<Leases> AllLeases(bus::Client& client, absl::Duration timeout) {
  const absl::Time deadline = absl::Now() + timeout;
  Leases leases;
  msg::ListRequestT request;
  request.limit = kPage;
  for (;;) {
    const auto more = ReadPage(client, request, deadline, &leases);
    if (!more.ok()) return more.status();
    if (!*more) return leases;
    request.after = leases.back()->id;
  }
}

absl::StatusOr<Leases> ServiceLeases(bus::Client& client, absl::Duration timeout) {
  const absl::Time deadline = absl::Now() + timeout;
  Leases leases;
  for (const std::string_view service : kAllServices) {
    msg::ListRequestT request;
    request.prefix = std::string(service) + "/";
    request.limit = 1;
    const auto more = ReadPage(client, request, deadline, &leases);
    if (!more.ok()) return more.status();
  }
  return leases;
}

}  // namespace yard
