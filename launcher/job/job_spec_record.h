#ifndef LAUNCHER_JOB_JOB_SPEC_RECORD_H_
#define LAUNCHER_JOB_JOB_SPEC_RECORD_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "bus/schema/launcher_generated.h"

namespace launcher {

// Encodes a job's spec for the store, and decodes it. DecodeJobSpec() returns nullopt if the bytes
// are not a valid spec.
std::string EncodeJobSpec(const msg::JobSpecT& spec);
std::optional<msg::JobSpecT> DecodeJobSpec(std::string_view bytes);

// Validates a caller's spec. InvalidArgument names the invalid field and the reason.
absl::Status CheckJobSpec(const msg::JobSpecT& spec);

// Returns the environment without the variables of another task's report channel.
std::vector<std::string> CleanEnvironment(const std::vector<std::string>& environment);

}  // namespace launcher

#endif  // LAUNCHER_JOB_JOB_SPEC_RECORD_H_
