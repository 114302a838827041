#ifndef RUNTIME_INIT_H_
#define RUNTIME_INIT_H_

#include <string_view>

#include "absl/status/status.h"
#include "runtime/locations.h"

namespace runtime {

// Starts logging: to stderr and to STATE/log/NAME.*, files of at most 32 MiB, warnings at once.
// Call once in main(), before other threads. `name` must outlive the process.
absl::Status InitLogging(std::string_view name, const Locations& locations);

}  // namespace runtime

#endif  // RUNTIME_INIT_H_
