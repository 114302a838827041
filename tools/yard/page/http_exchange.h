#ifndef TOOLS_YARD_PAGE_HTTP_EXCHANGE_H_
#define TOOLS_YARD_PAGE_HTTP_EXCHANGE_H_

#include <sys/socket.h>

#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "nlohmann/json.hpp"

namespace yard {

struct HttpAnswer {
  int status = 0;
  nlohmann::json body;  // A JSON object.
};

// Sends an HTTP/1.0 request to a local stream socket and returns the answer, whose body is a JSON
// object of at most 64 KiB. Blocks for at most `patience`, however slowly the peer sends.
// Unavailable if there is no answer, or one that is not HTTP with JSON.
absl::StatusOr<HttpAnswer> ExchangeHttp(const sockaddr* address, socklen_t size,
                                        std::string_view request, absl::Duration patience);

}  // namespace yard

#endif  // TOOLS_YARD_PAGE_HTTP_EXCHANGE_H_
