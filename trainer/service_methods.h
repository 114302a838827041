#ifndef TRAINER_SERVICE_METHODS_H_
#define TRAINER_SERVICE_METHODS_H_

#include "bus/call/service.h"
#include "runtime/event_loop.h"
#include "trainer/sweep/sweeps.h"
#include "trainer/table/trials.h"

namespace trainer {

// Adds the methods of rpc::Trainer, and those of rpc::Common that an owner of topics has, to
// `service`. They do their work on the loop's thread. Nothing
// is owned; `trials` outlives the loop's Run().
void AddMethods(bus::Service* service, runtime::EventLoop* loop, Trials* trials, Sweeps* sweeps);

}  // namespace trainer

#endif  // TRAINER_SERVICE_METHODS_H_
