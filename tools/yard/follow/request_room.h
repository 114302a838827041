#ifndef TOOLS_YARD_FOLLOW_REQUEST_ROOM_H_
#define TOOLS_YARD_FOLLOW_REQUEST_ROOM_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace yard {

// Part of a request's 1 MiB, in bytes, that user-supplied strings may take.
inline constexpr std::size_t kRequestRoom = 1008 << 10;

// InvalidArgument if these do not fit into one request together; it names the largest of them, and
// for an environment the variable.
absl::Status CheckRoom(const std::vector<std::string>& environment,
                       const std::vector<std::string>& argv, const std::string& config);

}  // namespace yard

#endif  // TOOLS_YARD_FOLLOW_REQUEST_ROOM_H_
