#ifndef TRAINER_SWEEP_SWEEP_EVENT_H_
#define TRAINER_SWEEP_SWEEP_EVENT_H_

#include <string>

#include "absl/status/statusor.h"
#include "trainer/store/sweep_rows.h"
#include "tuning/engine/engine_event.h"

namespace trainer {

// Converts an event of a sweep to its stored form; `plan` is the JSON text of event.plan. The
// caller fills in sweep, seq, request id and time.
SweepEventRow RowOf(const tuning::EngineEvent& event, std::string plan = "");
// The reverse. DataLoss if this version does not know the event.
absl::StatusOr<tuning::EngineEvent> EventOf(const SweepEventRow& row);

}  // namespace trainer

#endif  // TRAINER_SWEEP_SWEEP_EVENT_H_
