#ifndef RUNTIME_PROCESS_PROCESS_IDENTITY_H_
#define RUNTIME_PROCESS_PROCESS_IDENTITY_H_

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace runtime {

// Names one process for good: a pid alone is used again by strangers.
struct ProcessIdentity {
  std::uint64_t pid_namespace = 0;  // Inode of the namespace in which `pid` means something.
  std::string boot_id;              // /proc/sys/kernel/random/boot_id.
  pid_t pid = 0;
  std::uint64_t start_ticks = 0;  // Field 22 of /proc/PID/stat.

  bool operator==(const ProcessIdentity&) const = default;
};

// This process's identity.
absl::StatusOr<ProcessIdentity> SelfIdentity();
// The identity of `pid` in our pid namespace. NotFound if no such process (a zombie counts as
// gone).
absl::StatusOr<ProcessIdentity> IdentityOf(pid_t pid);
// True if that very process still runs. Always false for another pid namespace or boot: there
// only a lease can tell.
bool IsAlive(const ProcessIdentity& identity);
// True if pids of `identity` mean something here (same boot and pid namespace).
bool InOurNamespace(const ProcessIdentity& identity);

}  // namespace runtime

#endif  // RUNTIME_PROCESS_PROCESS_IDENTITY_H_
