#ifndef TRAINER_SWEEP_SWEEP_EVENT_H_
#define TRAINER_SWEEP_SWEEP_EVENT_H_

#include <string>

#include "absl/status/statusor.h"
#include "trainer/store/sweep_rows.h"
#include "tuning/engine/event.h"

namespace trainer {

// An event of a sweep as it is stored; `plan` is the JSON text of event.plan. Sweep, seq, request
// id and time are left to the caller.
SweepEventRow RowOf(const tuning::EngineEvent& event, std::string plan = "");
// The reverse. DataLoss: it is none that this version knows.
absl::StatusOr<tuning::EngineEvent> EventOf(const SweepEventRow& row);

}  // namespace trainer

#endif  // TRAINER_SWEEP_SWEEP_EVENT_H_
