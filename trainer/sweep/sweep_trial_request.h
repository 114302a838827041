#ifndef TRAINER_SWEEP_SWEEP_TRIAL_REQUEST_H_
#define TRAINER_SWEEP_SWEEP_TRIAL_REQUEST_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "bus/schema/trainer_generated.h"
#include "trainer/store/sweep_rows.h"
#include "tuning/space/config.h"

namespace trainer {

// The request for trial `number` of the sweep is the sweep's template, with a name, a
// configuration and a command of its own. The difference of its source to the commit is with the
// first trial alone, which the others name, unless that one was removed. `from`: the id of the
// trial whose newest checkpoint it starts from; empty: none. `logdir`: the trainer's.
// InvalidArgument: the configuration cannot be written into the command.
absl::StatusOr<msg::RunTrialRequestT> SweepTrialRequest(
    const SweepRecord& sweep, std::uint64_t number, const tuning::Config& config,
    const std::string& from, const std::string& logdir, bool first_is_gone);

}  // namespace trainer

#endif  // TRAINER_SWEEP_SWEEP_TRIAL_REQUEST_H_
