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
#include "tuning/engine/engine_event.h"
#include "tuning/engine/plan.h"

// The events for the engine of a sweep: converts reports, states of trials and orders of users.
// Pure functions; any thread.

namespace trainer {

// Converts a report with these metrics; the caller sets `trial`, `resource` and `whether`. Nullopt
// if the report has none of the sweep's metrics.
std::optional<tuning::EngineEvent> EventOfReport(const tuning::Plan& plan,
                                                 const std::vector<Metric>& metrics);

// Converts the current state of trial `number`; `shown` is its message, or an error if it has none.
// Nullopt if the engine knows that state already, and for a trial that the engine has ordered to
// start or to continue, because its old state means nothing.
std::optional<tuning::EngineEvent> EventOfTrial(const tuning::Engine::Trial& trial,
                                                std::uint64_t number,
                                                const absl::StatusOr<msg::TrialT>& shown);

// Converts any order but Remove for the sweep `id`. `plan` receives the whole JSON text of a
// changed plan. InvalidArgument if the order, its plan or its configuration is invalid;
// FailedPrecondition if the sweep has ended or is stopping.
absl::StatusOr<tuning::EngineEvent> EventOfOrder(const std::string& id,
                                                 const tuning::Engine& engine,
                                                 const msg::ChangeSweepRequestT& request,
                                                 std::string& plan);

// Returns true if the engine orders nothing more, unless it is resumed.
bool HasEnded(const tuning::Engine& engine);

}  // namespace trainer

#endif  // TRAINER_SWEEP_SWEEP_INPUT_H_
