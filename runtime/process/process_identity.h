#ifndef RUNTIME_PROCESS_PROCESS_IDENTITY_H_
#define RUNTIME_PROCESS_PROCESS_IDENTITY_H_

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace runtime {

// Identifies one process permanently; a pid alone is reused.
struct ProcessIdentity {
  std::uint64_t pid_namespace = 0;  // Inode of the namespace of `pid`.
  std::string boot_id;              // /proc/sys/kernel/random/boot_id.
  pid_t pid = 0;
  std::uint64_t start_ticks = 0;  // Field 22 of /proc/PID/stat.

  bool operator==(const ProcessIdentity&) const = default;
};

// Returns this process's identity.
absl::StatusOr<ProcessIdentity> SelfIdentity();
// Returns the identity of `pid` in our pid namespace. NotFound if the process does not exist (or is
// a zombie).
absl::StatusOr<ProcessIdentity> IdentityOf(pid_t pid);
// True if that very process still runs. Always false for another pid namespace or boot, whose
// processes are visible through their leases only.
bool IsAlive(const ProcessIdentity& identity);
// True if the pid is valid here (same boot and pid namespace).
bool InOurNamespace(const ProcessIdentity& identity);

}  // namespace runtime

#endif  // RUNTIME_PROCESS_PROCESS_IDENTITY_H_
