#ifndef TRAINER_TRIAL_METHODS_H_
#define TRAINER_TRIAL_METHODS_H_

#include "bus/alert/alert_store.h"
#include "bus/call/service.h"
#include "runtime/event_loop.h"
#include "trainer/alert/trial_alerts.h"
#include "trainer/sweep/sweeps.h"
#include "trainer/table/trials.h"

namespace trainer {

// Adds to `service` the methods of rpc::Trainer, and the methods of rpc::Common that a service that
// owns topics has to answer. Handlers run on the loop's thread. Nothing is owned, and `trials`
// outlives the loop's Run(). If `alerts` and `alert_store` are null, the alert methods are not
// added.
void AddMethods(bus::Service* service, runtime::EventLoop* loop, Trials* trials, Sweeps* sweeps,
                TrialAlerts* alerts = nullptr, bus::AlertStore* alert_store = nullptr);

}  // namespace trainer

#endif  // TRAINER_TRIAL_METHODS_H_
