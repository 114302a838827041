#ifndef TRAINER_SWEEP_SWEEP_TRIAL_REQUEST_H_
#define TRAINER_SWEEP_SWEEP_TRIAL_REQUEST_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "bus/schema/trainer_generated.h"
#include "trainer/store/sweep_rows.h"
#include "tuning/space/config.h"

namespace trainer {

// Returns the request for trial `number`: the sweep's template with the trial's name, configuration
// and command. Only the first trial carries the diff of the source against the commit; the others
// refer to the first, unless it was removed (`first_is_gone`). `from` is the id of the trial whose
// newest checkpoint it starts from; empty: none. `logdir` is the trainer's. InvalidArgument if the
// configuration cannot be written into the command.
absl::StatusOr<msg::RunTrialRequestT> SweepTrialRequest(
    const SweepRecord& sweep, std::uint64_t number, const tuning::Config& config,
    const std::string& from, const std::string& logdir, bool first_is_gone);

}  // namespace trainer

#endif  // TRAINER_SWEEP_SWEEP_TRIAL_REQUEST_H_
