#ifndef RUNTIME_PROCESS_SUPERVISOR_NOTICE_H_
#define RUNTIME_PROCESS_SUPERVISOR_NOTICE_H_

#include <string_view>

#include "absl/status/status.h"

namespace runtime {

// Tells whoever supervises this process what it does, as sd_notify(3): "READY=1", "STOPPING=1".
// One datagram to $NOTIFY_SOCKET (a path, or "@" and an abstract name), without waiting; does
// nothing where that is not set, as nobody waits for it.
absl::Status NotifySupervisor(std::string_view state);

}  // namespace runtime

#endif  // RUNTIME_PROCESS_SUPERVISOR_NOTICE_H_
