#ifndef RUNTIME_PROCESS_SUPERVISOR_NOTICE_H_
#define RUNTIME_PROCESS_SUPERVISOR_NOTICE_H_

#include <string_view>

#include "absl/status/status.h"

namespace runtime {

// Reports the state of this process to its supervisor, like sd_notify(3): "READY=1", "STOPPING=1".
// Sends one datagram to $NOTIFY_SOCKET (a path, or "@" and an abstract name) without waiting; does
// nothing if the variable is unset.
absl::Status NotifySupervisor(std::string_view state);

}  // namespace runtime

#endif  // RUNTIME_PROCESS_SUPERVISOR_NOTICE_H_
