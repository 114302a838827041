#ifndef TOOLS_YARD_SWEEP_SWEEP_ORDERS_H_
#define TOOLS_YARD_SWEEP_SWEEP_ORDERS_H_

#include <string>

#include "absl/status/statusor.h"
#include "bus/schema/trainer_generated.h"
#include "tools/yard/cli/context.h"

namespace yard {

// Requests about sweeps from verbs to the trainer. All block until it has answered; NotFound also
// if a name is ambiguous.

// Finds a sweep by name, id or unique prefix of an id; FailedPrecondition for other things.
absl::StatusOr<msg::SweepT> FindSweep(Context& context, const std::string& name);
absl::StatusOr<msg::SweepDetailsReplyT> SweepDetails(Context& context, const std::string& sweep);
// Returns the sweep after the change; if it was removed, its last state.
absl::StatusOr<msg::SweepT> ChangeSweep(Context& context, const msg::ChangeSweepRequestT& request);
// The same for an order without further arguments; `whether` as in ChangeSweepRequest.
absl::StatusOr<msg::SweepT> OrderSweep(Context& context, const std::string& sweep,
                                       msg::SweepOrder order, bool whether = false);

// Prints a sweep as a line, or with --json as an object.
void PrintSweep(Context& context, const msg::SweepT& sweep);

}  // namespace yard

#endif  // TOOLS_YARD_SWEEP_SWEEP_ORDERS_H_
