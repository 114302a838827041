#ifndef TRAINER_TRIAL_TRIAL_REQUEST_H_
#define TRAINER_TRIAL_TRIAL_REQUEST_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/schema/trainer_generated.h"
#include "trainer/store/trial_record.h"

namespace trainer {

// Returns the specification for a request. `id` becomes the trial's name if the request has none;
// `logdir` is the parent of its directory unless the request says otherwise. The result never has
// an attached process, whatever the request says. InvalidArgument names the field.
absl::StatusOr<TrialSpec> SpecFrom(const msg::RunTrialRequestT& request, const std::string& id,
                                   const std::string& logdir);

// Returns OK if `name` can name a directory: 1 to 200 bytes, no slash, no control character, and no
// dot or "-" in front. InvalidArgument names the fault.
absl::Status CheckRunName(std::string_view name);

// Returns AlreadyExists if the directory contains files of a run.
absl::Status CheckDirectoryIsFree(const std::string& directory);

}  // namespace trainer

#endif  // TRAINER_TRIAL_TRIAL_REQUEST_H_
