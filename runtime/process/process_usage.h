#ifndef RUNTIME_PROCESS_PROCESS_USAGE_H_
#define RUNTIME_PROCESS_PROCESS_USAGE_H_

#include <cstdint>

#include "absl/time/time.h"

namespace runtime {

// The machine's resources that this process uses, as the kernel reports them; unknown numbers are
// 0. Any thread; takes some microseconds, more with thousands of open files.
struct ProcessUsage {
  absl::Duration cpu;  // User and system time of all threads since the start.
  std::uint64_t resident_bytes = 0;
  std::uint64_t open_files = 0;
  std::uint64_t open_files_limit = 0;  // The soft limit; all bits set: unlimited.
  std::uint64_t threads = 0;
};
ProcessUsage UsageOfThisProcess();

}  // namespace runtime

#endif  // RUNTIME_PROCESS_PROCESS_USAGE_H_
