#ifndef TRAINER_ALERT_LAUNCHER_CALLS_H_
#define TRAINER_ALERT_LAUNCHER_CALLS_H_

#include "bus/call/client.h"
#include "bus/launcher_client/job_control.h"
#include "runtime/event_loop.h"
#include "trainer/alert/trial_alerts.h"

namespace trainer {

// Sets the functions in `options` that call the launcher. Nothing is owned; every argument outlives
// the calls.
void SetLauncherCalls(bus::Client* client, bus::JobControl* jobs, runtime::EventLoop* loop,
                      TrialAlerts::Options* options);

}  // namespace trainer

#endif  // TRAINER_ALERT_LAUNCHER_CALLS_H_
