#ifndef TOOLS_YARD_SWEEP_SWEEP_ORDERS_H_
#define TOOLS_YARD_SWEEP_SWEEP_ORDERS_H_

#include <string>

#include "absl/status/statusor.h"
#include "bus/schema/trainer_generated.h"
#include "tools/yard/cli/context.h"

namespace yard {

// Verbs ask the trainer these things for a sweep. All block until it has answered; NotFound also
// for a name that fits two.

// The sweep of this name, id or unique prefix of one; FailedPrecondition for something else.
absl::StatusOr<msg::SweepT> FindSweep(Context& context, const std::string& name);
absl::StatusOr<msg::SweepDetailsReplyT> SweepDetails(Context& context, const std::string& sweep);
// The sweep as it is then; as it was, if it was removed.
absl::StatusOr<msg::SweepT> ChangeSweep(Context& context, const msg::ChangeSweepRequestT& request);
// The same for an order that needs no more; `whether` is that of a ChangeSweepRequest.
absl::StatusOr<msg::SweepT> OrderSweep(Context& context, const std::string& sweep,
                                       msg::SweepOrder order, bool whether = false);

// Prints a sweep: a line, or with --json an object.
void PrintSweep(Context& context, const msg::SweepT& sweep);

}  // namespace yard

#endif  // TOOLS_YARD_SWEEP_SWEEP_ORDERS_H_
