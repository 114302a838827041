#ifndef TRAINER_LAUNCHER_JOBS_H_
#define TRAINER_LAUNCHER_JOBS_H_

#include <memory>

#include "bus/client.h"
#include "runtime/clock.h"
#include "runtime/event_loop.h"
#include "trainer/job_control.h"

namespace trainer {

// JobControl over the bus. `client`, `loop` and `clock` are not owned and outlive it. Create and
// destroy it on the loop's thread or while the loop does not run.
std::unique_ptr<JobControl> MakeLauncherJobs(bus::Client* client, runtime::EventLoop* loop,
                                             runtime::Clock* clock = runtime::Clock::Real());

}  // namespace trainer

#endif  // TRAINER_LAUNCHER_JOBS_H_
