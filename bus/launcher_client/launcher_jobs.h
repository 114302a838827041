#ifndef BUS_LAUNCHER_CLIENT_LAUNCHER_JOBS_H_
#define BUS_LAUNCHER_CLIENT_LAUNCHER_JOBS_H_

#include <memory>

#include "bus/call/client.h"
#include "bus/launcher_client/job_control.h"
#include "runtime/clock.h"
#include "runtime/event_loop.h"

namespace bus {

// Returns a JobControl that calls over the bus. Owns none of `client`, `loop` and `clock`, which
// must outlive it. Create and destroy it on the loop's thread, or while the loop does not run.
std::unique_ptr<JobControl> MakeLauncherJobs(bus::Client* client, runtime::EventLoop* loop,
                                             runtime::Clock* clock = runtime::Clock::Real());

}  // namespace bus

#endif  // BUS_LAUNCHER_CLIENT_LAUNCHER_JOBS_H_
