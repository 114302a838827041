#ifndef TRAINER_SWEEP_METHODS_H_
#define TRAINER_SWEEP_METHODS_H_

#include "bus/call/service.h"
#include "runtime/event_loop.h"
#include "trainer/sweep/sweeps.h"

namespace trainer {

// Adds the methods of sweeps to the service. Owns neither argument; both outlive every call.
void AddSweepMethods(bus::Service* service, runtime::EventLoop* loop, Sweeps* sweeps);

}  // namespace trainer

#endif  // TRAINER_SWEEP_METHODS_H_
