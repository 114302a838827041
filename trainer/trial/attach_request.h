#ifndef TRAINER_TRIAL_ATTACH_REQUEST_H_
#define TRAINER_TRIAL_ATTACH_REQUEST_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "bus/schema/trainer_generated.h"
#include "trainer/report/line_receiver.h"

namespace trainer {

// Parses the request of an attached process for its trial (docs/report-channel.md): JSON with
// `name`, `config`, `labels`, `note`, `display_name`, `argv`, `working_directory`, `umask` and
// `provenance`, all optional. InvalidArgument names the invalid member; SpecFrom() checks the rest.
absl::StatusOr<msg::RunTrialRequestT> RequestOf(const AttachRequest& attach);

// Returns `name` if it is free, or else the first free one of NAME-2, NAME-3, ..., so that a
// notebook cell can be run again. If the search, which ends at NAME-9999, finds none, returns
// `name`.
std::string FreeName(const std::string& name,
                     const std::function<bool(const std::string& name)>& is_free);

}  // namespace trainer

#endif  // TRAINER_TRIAL_ATTACH_REQUEST_H_
