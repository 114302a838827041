#ifndef TOOLS_YARD_SERVICES_UPGRADE_H_
#define TOOLS_YARD_SERVICES_UPGRADE_H_

#include <sys/types.h>

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "tools/yard/cli/context.h"
#include "tools/yard/state/wanted.h"

namespace yard {

// Restarts, one by one, the services that run another program than is installed now (outdated.h),
// except those with another supervisor; calls `restarted` after each. Tasks continue: their shims
// wait for the services and resend. Each service is asked to stop, and has `timeout` to become
// ready again. Blocks; stops at the first error, which names the service, the cause, and its
// successor's output.
absl::Status RestartOutdated(
    Context& context, const Wanted& wanted, absl::Duration timeout,
    const std::function<void(const std::string& service, pid_t before, pid_t now)>& restarted);

// Restarts one service in the same way, with the flags of `wanted`. The service logs
// `reason`.
absl::Status RestartService(Context& context, const Wanted& wanted, const std::string& service,
                            absl::Duration timeout, const std::string& reason);

}  // namespace yard

#endif  // TOOLS_YARD_SERVICES_UPGRADE_H_
