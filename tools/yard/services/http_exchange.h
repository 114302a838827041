#ifndef TOOLS_YARD_SERVICES_HTTP_EXCHANGE_H_
#define TOOLS_YARD_SERVICES_HTTP_EXCHANGE_H_

#include <sys/socket.h>

#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "nlohmann/json.hpp"

namespace yard {

struct HttpAnswer {
  int status = 0;
  nlohmann::json body;  // An object.
};

// Sends a request of HTTP/1.0 to a stream socket of this machine and reads the answer, whose body
// is JSON and has 64 KiB at most. Blocks for `patience` at most, however slowly the other side
// answers. Unavailable: it does not answer, or not with HTTP and JSON.
absl::StatusOr<HttpAnswer> ExchangeHttp(const sockaddr* address, socklen_t size,
                                        std::string_view request, absl::Duration patience);

}  // namespace yard

#endif  // TOOLS_YARD_SERVICES_HTTP_EXCHANGE_H_
