#ifndef LAUNCHER_JOB_JOB_SPEC_RECORD_H_
#define LAUNCHER_JOB_JOB_SPEC_RECORD_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "bus/schema/launcher_generated.h"

namespace launcher {

// A job's spec as bytes for the store, and back. Nothing if the bytes are no spec.
std::string EncodeJobSpec(const msg::JobSpecT& spec);
std::optional<msg::JobSpecT> DecodeJobSpec(std::string_view bytes);

// InvalidArgument says which field of a caller's spec cannot be used, and why.
absl::Status CheckJobSpec(const msg::JobSpecT& spec);

// The environment without the report channel of another task.
std::vector<std::string> CleanEnvironment(const std::vector<std::string>& environment);

}  // namespace launcher

#endif  // LAUNCHER_JOB_JOB_SPEC_RECORD_H_
