#ifndef TOOLS_YARD_SERVICES_UPGRADE_H_
#define TOOLS_YARD_SERVICES_UPGRADE_H_

#include <sys/types.h>

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "tools/yard/cli/context.h"
#include "tools/yard/services/yard_state.h"

namespace yard {

// Restarts, one by one, the services that run another program than is installed now
// (outdated.h), those of another supervisor excepted; `restarted` is told of each. Tasks stay with
// their shims, which wait for the services and resend, so what runs goes on. Each service is
// asked to stop and has `timeout` to become ready again. Blocks; the first error ends it: the
// service's name, why, and what its successor said.
absl::Status RestartOutdated(
    Context& context, const Wanted& wanted, absl::Duration timeout,
    const std::function<void(const std::string& service, pid_t before, pid_t now)>& restarted);

// Restarts one service, which is to get the flags that `wanted` has for it, in the same way.
// `reason` is what the service logs.
absl::Status RestartService(Context& context, const Wanted& wanted, const std::string& service,
                            absl::Duration timeout, const std::string& reason);

}  // namespace yard

#endif  // TOOLS_YARD_SERVICES_UPGRADE_H_
