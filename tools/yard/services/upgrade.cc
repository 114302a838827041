#include "tools/yard/services/upgrade.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "bus/schema/common_methods.h"
#include "tools/yard/services/outdated.h"
#include "tools/yard/services/service_start.h"
#include "tools/yard/state/service_output.h"
#include "tools/yard/state/service_presence.h"

namespace yard {
namespace {

// Exceeds the --stop_grace of a service.
constexpr absl::Duration kLeave = absl::Seconds(60);

absl::Status AskToStop(Context& context, const std::string& service, const std::string& reason) {
  auto client = context.client();
  if (!client.ok()) return client.status();
  msg::ShutdownRequestT request;
  request.reason = reason;
  return (*client)
      ->Call<rpc::Common::Shutdown>(
          request, {.timeout = absl::Seconds(10), .service = service, .wait_for_service = true})
      .status();
}

}  // namespace

absl::Status RestartService(Context& context, const Wanted& wanted, const std::string& service,
                            absl::Duration timeout, const std::string& reason) {
  const pid_t before = HolderOf(context.locations, service);
  Awaited awaited{.services = {service}};
  awaited.output_begins[service] = OutputEnd(context.locations, service);
  const absl::Status asked = AskToStop(context, service, reason);
  if (!WaitUntilLeft(context, service, before, asked.ok() ? kLeave : absl::ZeroDuration())) {
    return absl::Status(asked.ok() ? absl::StatusCode::kDeadlineExceeded : asked.code(),
                        absl::StrCat(service, " (pid ", before, ") has not stopped",
                                     asked.ok() ? "" : absl::StrCat(": ", asked.message())));
  }
  // The launcher restarts the other services, but nothing restarts the launcher.
  if (service == "launcher" && HolderOf(context.locations, service) == 0) {
    auto started = StartService(context, service, wanted);
    if (!started.ok()) return started.status();
    awaited.started.emplace(service, *std::move(started));
  }
  return WaitUntilReady(context, awaited, timeout, [](const std::string&) {});
}

absl::Status RestartOutdated(
    Context& context, const Wanted& wanted, absl::Duration timeout,
    const std::function<void(const std::string& service, pid_t before, pid_t now)>& restarted) {
  for (const std::string& service : OutdatedServices(context.locations, wanted)) {
    const pid_t before = HolderOf(context.locations, service);
    if (absl::Status done = RestartService(context, wanted, service, timeout, "yard up --upgrade");
        !done.ok()) {
      return done;
    }
    restarted(service, before, HolderOf(context.locations, service));
  }
  return absl::OkStatus();
}

}  // namespace yard
