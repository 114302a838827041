#ifndef TRAINER_SERVICE_METHODS_H_
#define TRAINER_SERVICE_METHODS_H_

#include "bus/alert/alert_store.h"
#include "bus/call/service.h"
#include "runtime/event_loop.h"
#include "trainer/alert/trial_alerts.h"
#include "trainer/sweep/sweeps.h"
#include "trainer/table/trials.h"

namespace trainer {

// Adds the methods of rpc::Trainer, and those of rpc::Common that an owner of topics has, to
// `service`. They do their work on the loop's thread. Nothing
// is owned; `trials` outlives the loop's Run(). Without `alerts` and `alert_store` there are no
// alerts.
void AddMethods(bus::Service* service, runtime::EventLoop* loop, Trials* trials, Sweeps* sweeps,
                TrialAlerts* alerts = nullptr, bus::AlertStore* alert_store = nullptr);

}  // namespace trainer

#endif  // TRAINER_SERVICE_METHODS_H_
