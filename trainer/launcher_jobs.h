#ifndef TRAINER_LAUNCHER_JOBS_H_
#define TRAINER_LAUNCHER_JOBS_H_

#include <memory>

#include "bus/client.h"
#include "runtime/event_loop.h"
#include "trainer/job_control.h"

namespace trainer {

// JobControl over the bus. `client` and `loop` are not owned and outlive it. Create and destroy it
// on the loop's thread or while the loop does not run.
std::unique_ptr<JobControl> MakeLauncherJobs(bus::Client* client, runtime::EventLoop* loop);

}  // namespace trainer

#endif  // TRAINER_LAUNCHER_JOBS_H_
