#ifndef DATAMANAGER_TENSORBOARD_DATA_SERVER_H_
#define DATAMANAGER_TENSORBOARD_DATA_SERVER_H_

#include <vector>

#include "absl/status/status.h"
#include "datamanager/tensorboard/server_flags.h"
#include "runtime/file/unique_fd.h"

namespace datamanager::tensorboard {

// Reads the runs below flags.logdir and serves them on these listening sockets. Returns only if it
// cannot start; with die_after_stdin the process exits when stdin ends.
absl::Status Serve(const ServerFlags& flags, std::vector<runtime::UniqueFd> sockets);

}  // namespace datamanager::tensorboard

#endif  // DATAMANAGER_TENSORBOARD_DATA_SERVER_H_
