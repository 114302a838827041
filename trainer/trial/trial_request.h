#ifndef TRAINER_TRIAL_TRIAL_REQUEST_H_
#define TRAINER_TRIAL_TRIAL_REQUEST_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/schema/trainer_generated.h"
#include "trainer/store/trial_record.h"

namespace trainer {

// The specification a request asks for. `id` is the trial's name if the request has none, `logdir`
// where its directory is unless the request says otherwise. It is of no attached process, whatever
// the request says. InvalidArgument names the field.
absl::StatusOr<TrialSpec> SpecFrom(const msg::RunTrialRequestT& request, const std::string& id,
                                   const std::string& logdir);

// OK if `name` can be a directory's name: 1 to 200 bytes, no slash, no control character, no dot
// and no "-" in front. InvalidArgument says what is wrong.
absl::Status CheckRunName(std::string_view name);

// AlreadyExists if the directory holds files of a run.
absl::Status CheckDirectoryIsFree(const std::string& directory);

}  // namespace trainer

#endif  // TRAINER_TRIAL_TRIAL_REQUEST_H_
