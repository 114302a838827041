#ifndef TRAINER_SWEEP_SWEEP_INPUT_H_
#define TRAINER_SWEEP_SWEEP_INPUT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bus/schema/trainer_generated.h"
#include "trainer/report/report_line.h"
#include "tuning/engine/engine.h"
#include "tuning/engine/event.h"
#include "tuning/engine/plan.h"

// The events that the engine of a sweep is told: what a report, the state of a trial and a person's
// order mean to it. Pure functions; any thread.

namespace trainer {

// A report with these metrics; `trial`, `resource` and `whether` are left to the caller. Nothing if
// the report has none of the sweep's metrics.
std::optional<tuning::EngineEvent> EventOfReport(const tuning::Plan& plan,
                                                 const std::vector<Metric>& metrics);

// Trial `number` of the sweep is shown like that now; an error: it cannot be shown. Nothing if the
// engine knows that already, and for a trial that the engine has ordered to start, or to go on,
// whose old state says nothing.
std::optional<tuning::EngineEvent> EventOfTrial(const tuning::Engine::Trial& trial,
                                                std::uint64_t number,
                                                const absl::StatusOr<msg::TrialT>& shown);

// An order for the sweep `id`; all but Remove. `plan` gets the whole JSON text of a changed plan.
// InvalidArgument: the order, or its plan or configuration; FailedPrecondition: the sweep has
// ended, or is stopping.
absl::StatusOr<tuning::EngineEvent> EventOfOrder(const std::string& id,
                                                 const tuning::Engine& engine,
                                                 const msg::ChangeSweepRequestT& request,
                                                 std::string& plan);

// True of an engine that orders nothing any more, unless it is resumed.
bool HasEnded(const tuning::Engine& engine);

}  // namespace trainer

#endif  // TRAINER_SWEEP_SWEEP_INPUT_H_
