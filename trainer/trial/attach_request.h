#ifndef TRAINER_TRIAL_ATTACH_REQUEST_H_
#define TRAINER_TRIAL_ATTACH_REQUEST_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "bus/schema/trainer_generated.h"
#include "trainer/report/line_receiver.h"

namespace trainer {

// The request for a trial that an attached process has made (docs/report-channel.md): its JSON has
// `name`, `config`, `labels`, `note`, `display_name`, `argv`, `working_directory`, `umask` and
// `provenance`, all optional. InvalidArgument names the member that is wrong; SpecFrom() judges the
// rest.
absl::StatusOr<msg::RunTrialRequestT> RequestOf(const AttachRequest& attach);

// `name` if it is free, else the first of NAME-2, NAME-3, ... that is; so a cell of a notebook may
// be run again. `name` itself if none is.
std::string FreeName(const std::string& name,
                     const std::function<bool(const std::string& name)>& is_free);

}  // namespace trainer

#endif  // TRAINER_TRIAL_ATTACH_REQUEST_H_
