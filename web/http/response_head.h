#ifndef WEB_HTTP_RESPONSE_HEAD_H_
#define WEB_HTTP_RESPONSE_HEAD_H_

#include <string>

#include "web/http/message.h"

namespace web {

// How a client detects the end of a body: by its length, by chunks, or (for HTTP/1.0, which lacks
// chunks) by the end of the connection.
enum class Framing { kLength, kChunks, kUntilClosed };

// Returns everything before the body, with the headers of every response: no caching, no framing by
// other pages, nothing loaded from elsewhere, and scripts only from files of this server. A header
// of `response` replaces the standard one of that name. Line breaks in values become spaces.
std::string ResponseHead(const Response& response, Framing framing, bool keep_alive);

}  // namespace web

#endif  // WEB_HTTP_RESPONSE_HEAD_H_
