#ifndef TOOLS_YARD_FOLLOW_REQUEST_ROOM_H_
#define TOOLS_YARD_FOLLOW_REQUEST_ROOM_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace yard {

// Bytes that a request to a service has, of the mebibyte of a message, for a person's words.
inline constexpr std::size_t kRequestRoom = 1008 << 10;

// InvalidArgument says which of them is the largest, and of an environment which variable is: they
// do not fit into one request together.
absl::Status CheckRoom(const std::vector<std::string>& environment,
                       const std::vector<std::string>& argv, const std::string& config);

}  // namespace yard

#endif  // TOOLS_YARD_FOLLOW_REQUEST_ROOM_H_
